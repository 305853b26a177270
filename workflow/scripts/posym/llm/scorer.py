"""What a reply is worth: exact match on the stripped answer, with refusals and over-long replies told apart."""

from __future__ import annotations

import re

CORRECT, WRONG, REFUSED, OVERLONG, FAILED = "correct", "wrong", "refused", "overlong", "failed"
OUTCOMES = (CORRECT, WRONG, REFUSED, OVERLONG, FAILED)
REFUSAL = re.compile(
    r"^(i'?m sorry|sorry\b|i apologi[sz]e|i can(no|')t\b|i can not\b|i'?m (un|not )able\b|i am (un|not )able\b|as an ai\b)",
    re.IGNORECASE,
)
CUT = ("max_tokens", "model_length")


def outcome(reply: str, answer: str, stop_reason: str) -> str:
    """One of `correct`, `wrong`, `refused`, `overlong` for a reply that arrived (a call without one is `failed`).

    `correct` is equality after stripping white space, upper and lower case told apart. `refused`: nothing was written, a
    content filter stepped in, or the reply opens like a refusal. `overlong`: more than one token of the game, or cut at the
    length limit. All but the first count as wrong answers.
    """
    text = reply.strip()
    if text == answer and stop_reason not in CUT:
        return CORRECT
    if (
        stop_reason == "content_filter"
        or (not text and stop_reason not in CUT)
        or REFUSAL.match(text.replace("\u2019", "'"))
    ):
        return REFUSED
    if stop_reason in CUT or len(text.split()) > 1:
        return OVERLONG
    return WRONG
