"""What the `frequencies` rule writes: one RoPE plane of a head at one query a row."""

import pyarrow as pa

from posym.tables import Contract

FREQUENCIES = Contract(
    "frequencies",
    {
        "layer": pa.uint8(),
        "head": pa.uint8(),
        "query": pa.string(),
        "plane": pa.uint16(),
        "angle": pa.float64(),
        "use": pa.float64(),
        "mean_plane": pa.float64(),
        "flat_mean_plane": pa.float64(),
        "logit": pa.float64(),
        "contrast": pa.float64(),
        "share": pa.float64(),
        "tau": pa.float64(),
        "positional": pa.float64(),
        "symbolic": pa.float64(),
        "items": pa.int32(),
    },
)
