"""What a worker needs of an engine. `local` trains in this process; others may ask a service."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skein_trainer.client import Json
from skein_trainer.data import Config, Example, Tokenise


@dataclass
class Lora:
    """Of a model without a parent that says more."""

    rank: int = 8
    alpha: int = 16
    targets: str | list[str] = "all-linear"
    seed: int = 0


class Engine(Protocol):
    tokenise: Tokenise

    def start(self, folder: Path | None, config: Config, uri: str | None = None) -> None:
        """
        Loads the files of a checkpoint, or what its trainer put elsewhere, or the state of an attempt; without these,
        begins with the base model. @raises ValueError for a checkpoint of another engine
        """
        ...

    def prepare(self, examples: list[Example], config: Config) -> None:
        """Notes what the losses need of the policy as it is now."""
        ...

    def step(self, examples: list[Example], config: Config) -> dict[str, float]:
        """One gradient step; answers its metrics."""
        ...

    def save(self, folder: Path, is_state: bool = False) -> Json:
        """
        Writes the files of a checkpoint or of a state, and answers what those who start from them have to know. With a
        `uri`, the checkpoint is there, and the files are for `start` alone.
        """
        ...
