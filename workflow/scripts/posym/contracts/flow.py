"""What the `flow` rule writes: one attention weight of one example a row."""

import pyarrow as pa

from posym.tables import Contract

FLOW = Contract(
    "flow",
    {
        "step": pa.int32(),
        "layer": pa.uint8(),
        "head": pa.uint8(),
        "query": pa.uint16(),
        "hop": pa.uint8(),
        "slot": pa.uint16(),
        "slot_hop": pa.uint8(),
        "token": pa.string(),
        "weight": pa.float64(),
        "answer": pa.string(),
        "predicted": pa.string(),
        "correct": pa.bool_(),
    },
)
