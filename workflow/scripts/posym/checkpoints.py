"""The checkpoints of one trained model, each checked against the manifest when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from posym.errors import InputError
from posym.files import read_json
from posym.model import Parameters, load_checkpoint


class Checkpoints:
    """A model folder that the `training` rule wrote."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        manifest = read_json(folder / "manifest.json")
        if not isinstance(manifest, dict) or "checkpoints" not in manifest:
            raise InputError(
                f"{folder / 'manifest.json'} is no model manifest: delete it and run the `training` stage again"
            )
        self.digests = {int(name.removeprefix("step-")): digest for name, digest in manifest["checkpoints"].items()}
        self.steps = sorted(self.digests)

    def load(self, step: int) -> Parameters:
        """The parameters at `step`; a step without a checkpoint raises `InputError`."""
        if step not in self.digests:
            raise InputError(
                f"{self.folder} has no checkpoint of step {step}: its steps are {self.steps[0]} to {self.steps[-1]};"
                " add it to training.extra_checkpoints"
            )
        return load_checkpoint(self.folder / "checkpoints" / f"step-{step:05d}", self.digests[step]).to(
            device=self.device
        )

    def __iter__(self) -> Iterator[tuple[int, Parameters]]:
        return ((step, self.load(step)) for step in self.steps)
