"""All claims in order, and the tables that they read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from posym.claims import heads, learning, length, mechanism, models, separation
from posym.claims.base import Claim, Options, Tables, nothing
from posym.contracts.ablation import ABLATION
from posym.contracts.discrepancy import DISCREPANCY
from posym.contracts.extrapolation import EXTRAPOLATION
from posym.contracts.frequencies import FREQUENCIES
from posym.contracts.functions import FUNCTIONS
from posym.contracts.llm import GAMES
from posym.contracts.scores import ACCURACY, SCORES
from posym.contracts.theory import DISCREPANCY as THEORY_DISCREPANCY
from posym.contracts.theory import IMPOSSIBILITY
from posym.tables import read_joined

OF_A_SEED = (ACCURACY, SCORES, EXTRAPOLATION, FUNCTIONS, FREQUENCIES, ABLATION, DISCREPANCY)
WHOLE = (THEORY_DISCREPANCY, IMPOSSIBILITY, GAMES)
CLAIMS = (
    Claim("1", "Both tasks are learned at every hop", "Fig. 2A", learning.learned, nothing),
    Claim(
        "2", "Number is learned hop after hop, letter all hops at once", "Fig. 2A", learning.order,
        learning.order_choices,
    ),
    Claim(
        "3", "Accuracy rises with the number of pure heads", "Figs 2A and 2C", learning.emergence,
        heads.score_choices,
    ),
    Claim(
        "4", "Number ends with positional and symbolic heads, letter with symbolic ones only", "Fig. 2C",
        heads.demands, heads.score_choices,
    ),
    Claim(
        "5", "Number's positional heads appear layer by layer", "Fig. 2C", heads.layer_by_layer,
        heads.score_choices,
    ),
    Claim(
        "6", "Letter's last layer turns from positional to symbolic as the task is learned", "Fig. 2B",
        heads.last_layer_turns, heads.turn_choices,
    ),
    Claim(
        "7", "Letter generalises to 850 tokens, number does not", "Fig. 5B", length.generalisation,
        length.step_choices,
    ),
    Claim(
        "8", "Index discrepancy falls like 1/n^2, Retrieval's stays away from zero", "Fig. 5A",
        separation.discrepancy_decay, separation.decay_choices,
    ),
    Claim(
        "9", "The printed Index bound does not hold for every query, the corrected one does", "the bound on D_Index",
        separation.bounds, nothing,
    ),
    Claim(
        "10", "Index is not symbolic, Retrieval is not positional", "the two impossibility theorems", separation.impossible, nothing,
    ),
    Claim(
        "11", "Positional heads use high RoPE frequencies, symbolic ones low", "Table 1", mechanism.frequencies,
        mechanism.frequency_choices,
    ),
    Claim(
        "12", "Ablating a head destroys what it is said to compute", "follows from what its heads are said to do; not tested there",
        mechanism.ablation, mechanism.ablation_choices,
    ),
    Claim(
        "13", "Language models: number collapses with length, letter holds", "one-hop games on LLMs", models.language_models,
        models.method_choices,
    ),
)  # fmt: skip


def read_tables(paths: Iterable[Path]) -> Tables:
    """The tables by name, each joined over tasks, seeds and models; see `posym.tables.read_joined`."""
    return read_joined(paths, (*OF_A_SEED, *WHOLE), "the scorecard", {contract.name for contract in WHOLE})


def scorecard(tables: Tables, options: Options) -> list[dict[str, Any]]:
    """The rows of scorecard.json, one a claim, in the order of their numbers."""
    return [claim.row(tables, options) for claim in CLAIMS]
