"""What the `theory` rule writes: accuracy of the constructions, their discrepancy, and the impossibility trials."""

import pyarrow as pa

from posym.tables import Contract

CONSTRUCTION = Contract(
    "construction",
    {
        "construction": pa.string(),  # index or retrieval
        "theta": pa.float64(),
        "alphabet": pa.int32(),
        "beta": pa.float64(),  # infinite for hard attention
        "length": pa.int32(),
        "hops": pa.uint8(),
        "accuracy": pa.float64(),
        "items": pa.int32(),
    },
)
DISCREPANCY = Contract(
    "theory discrepancy",
    {
        "construction": pa.string(),
        "theta": pa.float64(),
        "alphabet": pa.int32(),  # 0 for index, which does not depend on it
        "query_kind": pa.string(),
        "length": pa.int32(),
        "maximum": pa.float64(),
        "minimum": pa.float64(),
        "printed_bound": pa.float64(),
        "corrected_bound": pa.float64(),
        "corrected_of": pa.string(),  # maximum or minimum: what the corrected bound is an upper bound of
        "printed_excess_of_maximum": pa.float64(),
        "printed_excess_of_minimum": pa.float64(),
        "corrected_excess": pa.float64(),
        "condition_holds": pa.bool_(),
    },
)
IMPOSSIBILITY = Contract(
    "impossibility",
    {
        "layer_kind": pa.string(),
        "function": pa.string(),
        "trial": pa.int32(),
        "output_distance": pa.float64(),  # relative to the length of the outputs
        "attention": pa.string(),
        "compared": pa.string(),  # layer or head
        "impossible": pa.bool_(),
    },
)
