"""What the rules of the `llm` stage write: prompts, raw replies, accuracy by length, scores of pretrained heads."""

import pyarrow as pa

from posym.tables import Contract

ONEHOP = Contract(
    "onehop",
    {
        "run": pa.uint16(),
        "length": pa.uint16(),
        "slot_band": pa.uint8(),
        "prompt": pa.string(),
        "window": pa.string(),
        "answer": pa.string(),
        "answer_slot": pa.uint16(),
        "offset": pa.uint16(),
    },
)
REPLIES = Contract(
    "replies",
    {
        "task": pa.string(),
        "run": pa.uint16(),
        "length": pa.uint16(),
        "slot_band": pa.uint8(),
        "item": pa.uint32(),
        "method": pa.string(),
        "answer": pa.string(),
        "reply": pa.string(),
        "stop_reason": pa.string(),
        "outcome": pa.string(),
        "tokens_in": pa.int32(),
        "tokens_out": pa.int32(),
    },
)
GAMES = Contract(
    "games",
    {
        "model": pa.string(),
        "task": pa.string(),
        "run": pa.uint16(),
        "length": pa.uint16(),
        "slot_band": pa.uint8(),
        "method": pa.string(),
        "accuracy": pa.float64(),
        "correct": pa.int32(),
        "items": pa.int32(),
        "refused": pa.int32(),
        "overlong": pa.int32(),
        "failed": pa.int32(),
        "tokens_in": pa.int64(),
        "tokens_out": pa.int64(),
    },
)
HEADS = Contract(
    "heads",
    {
        "model": pa.string(),
        "task": pa.string(),
        "layer": pa.uint16(),
        "head": pa.uint16(),
        "plane": pa.uint16(),
        "positional": pa.float64(),
        "positional_low": pa.float64(),
        "positional_high": pa.float64(),
        "symbolic": pa.float64(),
        "symbolic_low": pa.float64(),
        "symbolic_high": pa.float64(),
        "entropy": pa.float64(),
        "block_mass": pa.float64(),
        "angle": pa.float64(),
        "items": pa.int32(),
    },
)
