"""What the `discrepancy` rule writes: how well separated a head's first choice is at one hop's query and one length."""

import pyarrow as pa

from posym.tables import Contract

DISCREPANCY = Contract(
    "discrepancy",
    {
        "layer": pa.uint8(),
        "head": pa.uint8(),
        "hop": pa.uint8(),
        "length": pa.int32(),
        "median": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "margin": pa.float64(),
        "margin_low": pa.float64(),
        "margin_high": pa.float64(),
        "right": pa.float64(),
        "slope": pa.float64(),
        "slope_low": pa.float64(),
        "slope_high": pa.float64(),
        "items": pa.int32(),
    },
)
