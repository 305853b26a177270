"""What the calls still to be made would cost, before the first one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from posym.errors import InputError

PIECE = re.compile(r"[A-Za-z]{1,6}|\d|[^\sA-Za-z\d]")
TOKENS_AROUND = 20  # roles and separators of a chat


def estimated_tokens(text: str) -> int:
    """Tokens of a prompt, estimated on the high side: a token for each six letters of a word, each digit, each other mark."""
    return len(PIECE.findall(text)) + TOKENS_AROUND


@dataclass(frozen=True)
class Estimate:
    """Number of calls, tokens in and out, and US dollars."""

    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float

    def __str__(self) -> str:
        tokens = f"{self.tokens_in} tokens in, at most {self.tokens_out} out"
        return f"{self.calls} calls, about {tokens}, about {self.dollars:.2f} US dollars"


def estimate(prompts: list[str], max_tokens: int, price_in: float, price_out: float) -> Estimate:
    """The cost of asking all `prompts`, each answered with `max_tokens` tokens; prices are for a million tokens."""
    tokens_in = sum(estimated_tokens(prompt) for prompt in prompts)
    tokens_out = max_tokens * len(prompts)
    return Estimate(len(prompts), tokens_in, tokens_out, (tokens_in * price_in + tokens_out * price_out) / 1e6)


def check_budget(name: str, needed: Estimate, budget: float) -> None:
    """Raise `InputError` where the estimate is above the budget."""
    if needed.dollars > budget:
        raise InputError(
            f"{name}: {needed}, above its budget of {budget:.2f}: nothing was asked; raise the model's budget, or lower"
            " llm.runs or llm.items"
        )
