"""What the `training` rule writes: one optimizer step a row."""

import pyarrow as pa

from posym.tables import Contract

TRAINING = Contract(
    "training",
    {"step": pa.int32(), "loss": pa.float32(), "learning_rate": pa.float64(), "gradient_norm": pa.float32()},
)
