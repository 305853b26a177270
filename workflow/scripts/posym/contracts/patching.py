"""What the `patching` rule writes: what one activation of the original restores in the counterfactual of one hop."""

import pyarrow as pa

from posym.tables import Contract

PATCHING = Contract(
    "patching",
    {
        "component": pa.string(),
        "layer": pa.uint8(),
        "slot": pa.uint8(),
        "hop": pa.uint8(),
        "hops": pa.uint8(),
        "effect": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "difference": pa.float64(),
        "items": pa.int32(),
    },
)
