"""What the `scores` rule writes: accuracy by hop, and the positional and symbolic score of every head."""

import pyarrow as pa

from posym.tables import Contract

ACCURACY = Contract(
    "accuracy",
    {"step": pa.int32(), "hops": pa.uint8(), "accuracy": pa.float64(), "correct": pa.int32(), "items": pa.int32()},
)
SCORES = Contract(
    "scores",
    {
        "step": pa.int32(),
        "layer": pa.uint8(),
        "head": pa.uint8(),
        "query": pa.string(),
        "tau": pa.float64(),
        "hops": pa.uint8(),
        "positional": pa.float64(),
        "positional_low": pa.float64(),
        "positional_high": pa.float64(),
        "symbolic": pa.float64(),
        "symbolic_low": pa.float64(),
        "symbolic_high": pa.float64(),
        "entropy": pa.float64(),
        "self_mass": pa.float64(),
        "items": pa.int32(),
    },
)
