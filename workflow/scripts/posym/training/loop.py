"""Training that survives a kill at any moment: checkpoints on a schedule, a resume state, one rename at the end.

Everything is written to a resume folder keyed by settings, data, code and device. The state is saved after the checkpoint
of its step, so a rerun keeps every checkpoint and goes on from the last one; a step depends on nothing but parameters,
moments and its own number, so the end is bit for bit the one of an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from posym import job
from posym.contracts.training import TRAINING
from posym.errors import InputError
from posym.files import file_digest, replaced_file, replaced_folder, write_json
from posym.model import Parameters, Shape, initial_parameters, save_checkpoint
from posym.tables import write_table
from posym.training.recipe import Recipe

LONGEST_SPAN = 250  # steps between two looks at the loss, so also between two resume states
DIVERGED = 2.0  # times the loss of a model that knows nothing


Moments = tuple[torch.Tensor, torch.Tensor]  # AdamW's first and second, flat


class Engine(Protocol):
    """What does the optimizer steps: see `cpu.CpuEngine` and `cuda.CudaEngine`."""

    parameters: Parameters
    moments: Moments

    def run(self, start: int, stop: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Do steps start .. stop - 1; losses and gradient norms [steps]."""


class MakeEngine(Protocol):
    """Builds an engine around parameters and moments (None: zeros)."""

    def __call__(self, parameters: Parameters, moments: Moments | None) -> Engine: ...


def checkpoint_steps(last: int, every: int, extra: list[int]) -> list[int]:
    """The schedule: 0, every `every` steps, the `extra` ones and the last."""
    return sorted({*range(0, last + 1, every), *extra, last})


@dataclass
class State:
    """Where a run stands: everything that the steps done so far leave behind."""

    parameters: Parameters
    moments: Moments | None = None
    step: int = 0
    losses: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    norms: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    checkpoints: dict[int, str] = field(default_factory=dict)  # step -> SHA-256 of the weights
    seconds: float = 0.0


class Run:
    """One training run with its resume folder."""

    def __init__(
        self,
        folder: Path,
        resume: Path,
        identity: dict[str, Any],
        shape: Shape,
        recipe: Recipe,
        schedule: list[int],
        initializer_standard_deviation: float,
    ) -> None:
        """`folder` gets the results; `resume` is this model's own resume folder; `identity` is all that numbers depend on."""
        self.folder, self.resume, self.identity = folder, resume, identity
        self.shape, self.recipe, self.schedule = shape, recipe, schedule
        self.initializer_standard_deviation = initializer_standard_deviation
        key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        self.work = resume / key

    def __call__(self, make_engine: MakeEngine) -> None:
        """Train (or go on training) and put the results in place."""
        self.resume.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.resume / "lock", timeout=0):
                self._train(make_engine)
        except Timeout:
            raise InputError(
                f"{self.resume} is in use by another process that trains this model: wait for it or stop it"
            ) from None
        except SafetensorError as error:  # so it says that the disk is full; damage is dealt with where a file is read
            raise InputError(
                f"{self.work} cannot be written ({error}): make space and run again, training goes on from its last checkpoint"
            ) from None

    def _train(self, make_engine: MakeEngine) -> None:
        for other in self.resume.iterdir():
            if other.is_dir() and other != self.work:
                job.log.info("another configuration, code, data set or device left %s: starting over", other)
                shutil.rmtree(other)
        state = self._load() or State(
            initial_parameters(
                self.shape, seed=self.recipe.seed, standard_deviation=self.initializer_standard_deviation
            )
        )
        if state.step:
            job.log.info("going on from step %d with %d checkpoints", state.step, len(state.checkpoints))
        engine = make_engine(state.parameters, state.moments)
        progress = job.Progress(self.recipe.steps, "step", done=state.step)
        if state.step == 0:
            self._checkpoint(state)
        guess = math.log(self.shape.vocabulary)
        while state.step < self.recipe.steps:
            started = time.monotonic()
            following = next(step for step in self.schedule if step > state.step)
            stop = min(following, state.step - state.step % LONGEST_SPAN + LONGEST_SPAN)
            losses, norms = engine.run(state.step, stop)
            self._check(state.step, losses, guess)
            state.parameters, state.moments, state.step = engine.parameters, engine.moments, stop
            state.losses, state.norms = np.append(state.losses, losses), np.append(state.norms, norms)
            if stop in self.schedule:
                self._checkpoint(state)
            state.seconds += time.monotonic() - started
            self._save(state)
            progress.update(stop, f"loss {losses[-50:].mean():.3f}")
        self._publish(state)

    def _check(self, start: int, losses: NDArray[np.float32], guess: float) -> None:
        bad = np.flatnonzero(~np.isfinite(losses))
        if bad.size:
            raise InputError(
                f"the loss is {losses[bad[0]]} at step {start + bad[0]}: lower training.learning_rate"
                f" ({self.recipe.learning_rate}) or raise training.warmup_steps ({self.recipe.warmup_steps})"
            )
        if losses.mean() > DIVERGED * guess:
            raise InputError(
                f"training diverges: mean loss {losses.mean():.2f} over steps {start} to {start + len(losses) - 1}, where guessing"
                f" blindly gives {guess:.2f}: lower training.learning_rate ({self.recipe.learning_rate})"
            )

    def _checkpoint(self, state: State) -> None:
        target = self.work / "checkpoints" / f"step-{state.step:05d}"
        state.checkpoints[state.step] = save_checkpoint(state.parameters, target, dropout=self.recipe.dropout)

    def _save(self, state: State) -> None:
        assert state.moments is not None
        about = {
            "step": state.step,
            "checkpoints": state.checkpoints,
            "seconds": state.seconds,
            "identity": self.identity,
        }
        tensors = {
            "parameters": state.parameters.flat.detach().cpu(),
            "first_moment": state.moments[0].detach().cpu(),
            "second_moment": state.moments[1].detach().cpu(),
            "losses": torch.from_numpy(state.losses),
            "gradient_norms": torch.from_numpy(state.norms),
        }
        with replaced_file(self.work / "state.safetensors") as temporary:
            save_file(tensors, temporary, metadata={"state": json.dumps(about)})

    def _load(self) -> State | None:
        path = self.work / "state.safetensors"
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                about = json.loads(file.metadata()["state"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
            job.log.info("%s is damaged (%s): starting over", path, error)
            return None
        checkpoints = {int(step): digest for step, digest in about["checkpoints"].items()}
        for step, digest in checkpoints.items():
            weights = self.work / "checkpoints" / f"step-{step:05d}" / "model.safetensors"
            if not weights.is_file() or file_digest(weights) != digest:
                job.log.info("%s is missing or damaged: starting over", weights)
                return None
        return State(
            parameters=Parameters(self.shape, tensors["parameters"]),
            moments=(tensors["first_moment"], tensors["second_moment"]),
            step=about["step"],
            losses=tensors["losses"].numpy(),
            norms=tensors["gradient_norms"].numpy(),
            checkpoints=checkpoints,
            seconds=about["seconds"],
        )

    def _publish(self, state: State) -> None:
        """Put the results in place, the manifest last. The resume folder stays: until Snakemake has noted the job as done,
        a kill makes it delete what stands there, and then this is repeated from the resume folder."""
        with replaced_folder(self.folder / "checkpoints") as temporary:
            for step in self.schedule:
                name = f"step-{step:05d}"
                shutil.copytree(self.work / "checkpoints" / name, temporary / name, copy_function=_link)
        steps = np.arange(self.recipe.steps)
        write_table(
            self.folder / "training.parquet",
            TRAINING,
            {
                "step": steps,
                "loss": state.losses,
                "learning_rate": [self.recipe.learning_rate_at(int(step)) for step in steps],
                "gradient_norm": state.norms,
            },
            {"identity": self.identity},
        )
        write_json(
            self.folder / "manifest.json",
            {
                **self.identity,
                "checkpoints": {f"step-{step:05d}": digest for step, digest in sorted(state.checkpoints.items())},
                "wall_seconds": round(state.seconds, 1),
            },
        )


def _link(source: str, target: str) -> None:
    """A hard link where the file system has them, otherwise a copy: the resume folder costs no second gigabyte."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
