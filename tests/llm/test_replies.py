"""What a reply is worth, what calls cost, what a kill leaves behind, and how replies become a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posym.errors import InputError
from posym.llm import games, onehop
from posym.llm.budget import check_budget, estimate, estimated_tokens
from posym.llm.ledger import Ledger, Reply
from posym.llm.scorer import outcome


@pytest.mark.parametrize(
    ("reply", "stop", "wanted"),
    [
        ("c2", "stop", "correct"),
        (" c2\n", "stop", "correct"),
        ("C2", "stop", "wrong"),
        ("c3", "stop", "wrong"),
        ('"c2"', "stop", "wrong"),
        ("c2", "max_tokens", "overlong"),
        ("The answer is c2", "stop", "overlong"),
        ("c2 c2", "stop", "overlong"),
        ("", "stop", "refused"),
        ("  ", "stop", "refused"),
        ("", "max_tokens", "overlong"),
        ("I'm sorry, but I can't do that.", "stop", "refused"),
        ("I\u2019m sorry", "stop", "refused"),
        ("Sorry", "stop", "refused"),
        ("x", "content_filter", "refused"),
        ("As an AI", "stop", "refused"),
        ("a", "stop", "wrong"),
    ],
)
def test_outcomes(reply: str, stop: str, wanted: str) -> None:
    assert outcome(reply, "c2", stop) == wanted


@given(st.text(), st.sampled_from(["stop", "max_tokens", "content_filter", "unknown"]))
def test_only_the_answer_is_correct(reply: str, stop: str) -> None:
    assert (outcome(reply, "c2", stop) == "correct") == (reply.strip() == "c2" and stop != "max_tokens")


def test_estimates_and_budget() -> None:
    assert estimated_tokens("a4 b3") == 4 + 20
    needed = estimate(["a4 b3"] * 1000, 16, price_in=2.0, price_out=10.0)
    assert (needed.calls, needed.tokens_in, needed.tokens_out) == (1000, 24000, 16000)
    assert needed.dollars == pytest.approx(0.048 + 0.16)
    check_budget("a/b", needed, 0.21)
    with pytest.raises(
        InputError, match=r"a/b: 1000 calls, .* about 0.21 US dollars, above its budget of 0.20: nothing was asked"
    ):
        check_budget("a/b", needed, 0.2)


def test_no_calls_cost_nothing() -> None:
    check_budget("a/b", estimate([], 16, 100, 100), 0)


def test_the_ledger_survives_a_kill_in_the_middle_of_a_line(tmp_path: Path) -> None:
    first = Ledger(tmp_path, {"model": "a/b"})
    replies = [Reply(f"item-{number}", "caf\u00e9\n2", "stop", 10, 2) for number in range(3)]
    for reply in replies:
        first.add(reply)
        first.add(reply)
    content = first.path.read_bytes()
    assert content.count(b"\n") == 4
    for cut in range(len(content)):
        first.path.write_bytes(content[:cut])
        again = Ledger(tmp_path, {"model": "a/b"})
        assert list(again.replies.values()) == replies[: len(again.replies)]
        for reply in replies:
            again.add(reply)
        assert list(Ledger(tmp_path, {"model": "a/b"}).replies.values()) == replies


def test_ledgers_of_other_options_are_apart_and_damage_is_named(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path, {"temperature": 0}), Ledger(tmp_path, {"temperature": 1})
    assert one.path != other.path
    one.add(Reply("a", "b", "stop", 1, 1))
    one.path.write_text(one.path.read_text() + "garbage\n")
    with pytest.raises(InputError, match="line 3 is damaged: delete this line"):
        Ledger(tmp_path, {"temperature": 0})


def test_tables_count_every_outcome_once() -> None:
    asked = games.questions("letter", onehop.make_items("letter", 0, 12, 8, 4))
    kinds = ["correct", "wrong", "refused", "overlong", "failed", "correct", "correct", "wrong"]
    answered = [
        games.Answered(question, "reply", "x", "stop", kind, 10, 2) for question, kind in zip(asked, kinds, strict=True)
    ]
    rows = games.table_rows("a/b", answered)
    (whole,) = [row for row in rows if row["slot_band"] == 0]
    assert (whole["items"], whole["correct"], whole["accuracy"]) == (7, 3, 3 / 7)
    assert (whole["refused"], whole["overlong"], whole["failed"]) == (1, 1, 1)
    assert (whole["tokens_in"], whole["tokens_out"]) == (80, 16)
    for column in ("items", "correct", "refused", "overlong", "failed"):
        assert sum(row[column] for row in rows if row["slot_band"]) == whole[column]  # type: ignore[misc]
    assert len(games.reply_rows(answered)) == 8
