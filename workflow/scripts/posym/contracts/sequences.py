"""What the `datasets` and `long_inputs` rules write: one sequence a row."""

import pyarrow as pa

from posym.tables import Contract

SEQUENCES = Contract(
    "sequences",
    {
        "tokens": pa.list_(pa.uint16()),
        "answer": pa.uint16(),
        "hops": pa.uint8(),
        "answer_slot": pa.uint8(),
        "path": pa.list_(pa.uint8()),
    },
)
LONG_SEQUENCES = Contract(
    "long sequences",
    {
        "extra": pa.uint16(),
        "length": pa.uint16(),
        "prefix": pa.uint32(),
        "hops": pa.uint8(),
        "answer": pa.uint16(),
        "answer_slot": pa.uint16(),
        "tokens": pa.list_(pa.uint16()),
    },
)
