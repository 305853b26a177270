"""What the `geometry` rule writes: mean query or key of one token in its head's dominant RoPE plane, and the head's fit."""

import pyarrow as pa

from posym.tables import Contract

GEOMETRY = Contract(
    "geometry",
    {
        "layer": pa.uint8(),
        "head": pa.uint8(),
        "token": pa.string(),
        "plane": pa.uint16(),
        "plane_angle": pa.float64(),
        "role": pa.string(),
        "angle": pa.float64(),
        "radius": pa.float64(),
        "contrast": pa.float64(),
        "angle_error": pa.float64(),
        "variance_explained": pa.float64(),
        "items": pa.int32(),
    },
)
