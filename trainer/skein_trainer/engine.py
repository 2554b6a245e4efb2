"""The interface of engines. `local` trains in this process; others may use a service."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skein_trainer.client import Json
from skein_trainer.data import Config, Example, Tokenise


@dataclass
class Lora:
    """Settings of the LoRA of a model whose parent has none."""

    rank: int = 8
    alpha: int = 16
    targets: str | list[str] = "all-linear"
    seed: int = 0


class Engine(Protocol):
    tokenise: Tokenise

    def start(self, folder: Path | None, config: Config, uri: str | None = None) -> None:
        """
        Loads the files of a checkpoint, a checkpoint that its trainer stored elsewhere, or the state of an attempt.
        Without any of these, begins with the base model. Raises ValueError for a checkpoint of another engine.
        """
        ...

    def prepare(self, examples: list[Example], config: Config) -> None:
        """Stores the values that the losses need of the policy before training."""
        ...

    def step(self, examples: list[Example], config: Config) -> dict[str, float]:
        """Makes one gradient step, and returns its metrics."""
        ...

    def save(self, folder: Path, is_state: bool = False) -> Json:
        """
        Writes the files of a checkpoint or of a state. Returns the settings that a trainer or server needs to start
        from them. With a `uri`, the checkpoint is stored at the URI, and only `start` needs the files.
        """
        ...
