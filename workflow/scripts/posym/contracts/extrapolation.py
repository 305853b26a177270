"""What the `extrapolation` rule writes: accuracy at one length and hop class a row."""

import pyarrow as pa

from posym.tables import Contract

EXTRAPOLATION = Contract(
    "extrapolation",
    {
        "step": pa.int32(),
        "extra": pa.int32(),
        "length": pa.int32(),
        "hops": pa.uint8(),
        "accuracy": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "correct": pa.int32(),
        "items": pa.int32(),
        "prefixes": pa.int32(),
        "logit_margin": pa.float64(),
    },
)
