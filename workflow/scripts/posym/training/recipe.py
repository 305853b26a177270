"""What a training run does at each step, as a function of the step's number alone.

Nothing here depends on what ran before: learning rate, batch and dropout of step s follow from the recipe and s, so a run
that stopped goes on exactly as it would have without the stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BATCHES, DROPOUT = 0, 1  # spawn keys of the two random streams


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of one training run. The paper's are in its section 3 and in the authors' released code.

    `steps` counts optimizer steps, `learning_rate` is the peak after `warmup_steps`, `betas`, `epsilon` and `weight_decay`
    are AdamW's (decay touches matrices only), `gradient_clip` bounds the total gradient norm, `dropout` is a probability.
    """

    steps: int
    batch_size: int
    learning_rate: float
    warmup_steps: int
    betas: tuple[float, float]
    epsilon: float
    weight_decay: float
    gradient_clip: float
    dropout: float
    seed: int

    def learning_rate_at(self, step: int) -> float:
        """Linear warm-up, then linear decay to zero; step counts from 0, whose rate is 0 (transformers' linear schedule)."""
        if step < self.warmup_steps:
            return self.learning_rate * (step / max(1, self.warmup_steps))
        return self.learning_rate * max(0.0, (self.steps - step) / max(1, self.steps - self.warmup_steps))

    def batch_rows(self, step: int, rows: int) -> NDArray[np.int64]:
        """Rows of the training set in the batch of `step`, int64 [batch_size].

        Each epoch is a permutation of all `rows` rows; epochs follow one another without a gap, so that a batch may hold
        the end of one and the start of the next.
        """
        places = step * self.batch_size + np.arange(self.batch_size)
        epochs, inside = np.divmod(places, rows)
        return np.concatenate(
            [_permutation(self.seed, int(epoch), rows)[inside[epochs == epoch]] for epoch in np.unique(epochs)]
        )

    def dropout_seed(self, step: int) -> int:
        """Seed of the dropout masks of `step`, below 2^63."""
        sequence = np.random.SeedSequence((self.seed, step), spawn_key=(DROPOUT,))
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


@lru_cache(maxsize=2)  # a batch that straddles two epochs needs both
def _permutation(seed: int, epoch: int, rows: int) -> NDArray[np.int64]:
    sequence = np.random.SeedSequence((seed, epoch), spawn_key=(BATCHES,))
    return np.random.Generator(np.random.PCG64(sequence)).permutation(rows)
