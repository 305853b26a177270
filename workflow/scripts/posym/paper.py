"""The paper's own values: a faint reference in figures, and what the claims compare with.

Source: Urrutia et al., "Positional versus Symbolic Attention Heads: Learning Dynamics, RoPE Geometry, and Length
Generalization", arXiv 2605.31558. Everything here is read off its vector figures, good to about 0.01 or 50 steps. Its
models were trained for 6,750 steps, one seed a task, so values by step compare only with runs of that schedule.
"""

from __future__ import annotations

LAST_STEP = 6750
LENGTH_QUOTED = 850  # tokens in all, the length that the paper's summary names
GUESS_LEVEL = 1 / 8  # any token of the target window (section 2)

# Fig. 2A: the steps at which accuracy passes each threshold, by hop.
THRESHOLDS = (0.5, 0.9, 0.99)
STEPS_PASSING: dict[str, dict[int, tuple[int, int, int]]] = {
    "number": {1: (1825, 2000, 2115), 2: (2475, 2735, 2985), 3: (2900, 3245, 3770), 4: (2910, 3355, 4215)},
    "letter": {1: (1765, 2690, 2890), 2: (2030, 2705, 2905), 3: (2110, 2720, 2900), 4: (1940, 2730, 3055)},
}

# Figs 2B and 6: (positional, symbolic) of each layer at the end, last query. Where the curves of several layers cannot
# be told apart the value is theirs together: number's L5-L11 are near 0.01, letter's L1-L11 at most 0.04 positional.
FINAL_SCORES: dict[str, tuple[tuple[float, float], ...]] = {
    "number": ((0.39, 0.62), (1.0, 0.0), (1.0, 0.0), (0.96, 0.09), (0.06, 0.99), *[(0.01, 1.0)] * 7),
    "letter": ((0.32, 0.86), *[(0.04, 1.0)] * 11),
}

# Fig. 2C: the first step of each pure layer at gamma 0.2. Number's L4 and L6-L10 lie between 2750 and 2950 and stand
# here at the latest of these steps.
PURE_GAMMA = 0.2
FIRST_PURE_STEPS: dict[str, dict[str, dict[int, int]]] = {
    "number": {
        "positional": {0: 2600, 1: 2450, 2: 3250, 3: 4500},
        "symbolic": {4: 2950, 5: 2750, 6: 2950, 7: 2950, 8: 2950, 9: 2950, 10: 2950, 11: 3000},
    },
    "letter": {
        "positional": {},
        "symbolic": {
            1: 1550, 2: 1650, 3: 1900, 4: 2050, 5: 2150, 6: 2300, 7: 2300, 8: 2550, 9: 2700, 10: 2850, 11: 2850,
        },
    },
}  # fmt: skip

# Table 1: each layer's mean plane id, weighted by use.
MEAN_PLANES: dict[str, tuple[int, ...]] = {
    "number": (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38),
    "letter": (18, 32, 42, 37, 40, 38, 41, 38, 41, 39, 38, 40),
}

# Fig. 5B: accuracy over all items by the number of extra tokens, final model.
LENGTH_CURVES: dict[str, dict[int, float]] = {
    "number": {
        20: 1.0, 30: 0.996, 40: 0.942, 50: 0.878, 60: 0.835, 80: 0.8, 100: 0.739, 200: 0.641, 300: 0.469, 400: 0.356,
        500: 0.313, 1000: 0.203, 2000: 0.101, 5000: 0.039,
    },
    "letter": {
        100: 0.998, 200: 0.992, 300: 0.987, 500: 0.954, 700: 0.914, 800: 0.891, 900: 0.879, 1000: 0.865, 2000: 0.737,
        3000: 0.625, 5000: 0.484,
    },
}  # fmt: skip
