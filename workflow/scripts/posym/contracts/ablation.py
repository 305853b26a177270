"""What the `ablation` rule writes: accuracy of one hop class without the heads of one set of layers."""

import pyarrow as pa

from posym.tables import Contract

ABLATION = Contract(
    "ablation",
    {
        "intervention": pa.string(),
        "layers": pa.list_(pa.uint8()),
        "hops": pa.uint8(),
        "accuracy": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "baseline": pa.float64(),
        "cost": pa.float64(),
        "cost_low": pa.float64(),
        "cost_high": pa.float64(),
        "items": pa.int32(),
    },
)
