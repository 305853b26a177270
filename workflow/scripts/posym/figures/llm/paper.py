"""The paper's Table 3, one-hop accuracy of three models, drawn as a faint reference and never used in a computation.

Source: Urrutia et al., arXiv 2605.31558, Table 3 (five runs each).
"""

from __future__ import annotations

LENGTHS = (12, 16, 24, 32, 48, 64, 80, 100, 200, 300)
ACCURACY: dict[str, dict[str, tuple[float, ...]]] = {
    "GPT-5.4": {
        "number": (0.98, 0.87, 0.73, 0.45, 0.17, 0.14, 0.10, 0.08, 0.08, 0.06),
        "letter": (0.96, 0.98, 1.0, 0.99, 0.99, 0.98, 0.96, 0.85, 0.52, 0.40),
    },
    "GPT-5.5": {
        "number": (0.55, 0.56, 0.42, 0.23, 0.21, 0.12, 0.10, 0.07, 0.06, 0.04),
        "letter": (0.87, 0.95, 0.96, 0.96, 0.77, 0.84, 0.75, 0.66, 0.55, 0.50),
    },
    "Claude Sonnet 3.7": {
        "number": (0.40, 0.34, 0.22, 0.15, 0.11, 0.08, 0.06, 0.06, 0.05, 0.05),
        "letter": (0.92, 0.89, 0.88, 0.88, 0.80, 0.87, 0.89, 0.86, 0.77, 0.80),
    },
}
MARKERS = {"GPT-5.4": "^", "GPT-5.5": "v", "Claude Sonnet 3.7": "D"}
