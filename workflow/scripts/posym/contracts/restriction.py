"""What the `restriction` rule writes: accuracy on long inputs with some planes, or one layer's attention, held."""

import pyarrow as pa

from posym.tables import Contract

RESTRICTION = Contract(
    "restriction",
    {
        "intervention": pa.string(),
        "extra": pa.int32(),
        "hops": pa.uint8(),
        "accuracy": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "baseline": pa.float64(),
        "items": pa.int32(),
    },
)
