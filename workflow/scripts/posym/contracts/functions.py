"""What the `functions` rule writes: a head's attention mass on the slot that one function names."""

import pyarrow as pa

from posym.tables import Contract

FUNCTIONS = Contract(
    "functions",
    {
        "step": pa.int32(),
        "layer": pa.uint8(),
        "head": pa.uint8(),
        "function": pa.string(),
        "hop": pa.uint8(),
        "hops": pa.uint8(),
        "mass": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "uniform": pa.float64(),
        "head_function": pa.string(),
        "items": pa.int32(),
    },
)
