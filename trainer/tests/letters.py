"""
A model that needs no torch. It stores how likely each letter is in an answer, by the first letter of the prompt. Its
tokens are characters, and its "LoRA" is the table of logits, in the files that a LoRA of PEFT has.

`skein-train --engine letters:LettersEngine` trains it. As a program it is an inference engine instead of vLLM:

    python trainer/tests/letters.py --port 8000
"""

import argparse
import json
import math
import random
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from engine_api import answer_of, choice_of, serving  # noqa: E402

from skein_trainer.client import Json  # noqa: E402
from skein_trainer.data import Config, Example, Sequence  # noqa: E402
from skein_trainer.engine import Lora  # noqa: E402

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 ?:\n"
END = "<end>"
TOKENS = [*ALPHABET, END]
ADAPTER = "adapter_model.safetensors"


def tokenise(messages: list[Json], tools: list[Json] | None, is_prompt: bool) -> list[int]:
    """Tokenises as the chat template of `tiny.py` does."""
    ids: list[int] = []
    for message in messages:
        is_said = message["role"] == "assistant"
        letters = [*(":" if is_said else ""), *(message["content"] or ""), *([END] if is_said else [])]
        ids += [TOKENS.index(letter) if letter in TOKENS else TOKENS.index(" ") for letter in letters]
    return [*ids, TOKENS.index(":")] if is_prompt else ids


class Table:
    def __init__(self, folder: Path | None = None):
        size = len(TOKENS)
        self.logits = [[0.0] * size for _ in TOKENS]
        if folder:
            content = (folder / ADAPTER).read_bytes()
            (length,) = struct.unpack("<Q", content[:8])
            values = struct.unpack(f"<{size * size}d", content[8 + length :])
            self.logits = [list(values[at : at + size]) for at in range(0, size * size, size)]

    def write(self, folder: Path) -> None:
        """Writes the table in the format of safetensors."""
        size = len(TOKENS)
        about = {"logits": {"dtype": "F64", "shape": [size, size], "data_offsets": [0, 8 * size * size]}}
        header = json.dumps(about).encode()
        values = struct.pack(f"<{size * size}d", *(value for row in self.logits for value in row))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ADAPTER).write_bytes(struct.pack("<Q", len(header)) + header + values)
        (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))

    def probabilities(self, first: int) -> list[float]:
        powers = [math.exp(value) for value in self.logits[first]]
        total = math.fsum(powers)
        return [power / total for power in powers]


class LettersEngine:
    """An engine that follows the gradient of the policy."""

    def __init__(self, base: str, lora: Lora):
        self.tokenise = tokenise
        self.table = Table()

    def start(self, folder: Path | None, config: Config, uri: str | None = None) -> None:
        self.table = Table(folder)

    def prepare(self, examples: list[Example], config: Config) -> None:
        """Does nothing: the losses need no values of the policy at the start."""

    def step(self, examples: list[Example], config: Config) -> dict[str, float]:
        sequences = [sequence for example in examples for sequence in example]
        total = sum(sequence.trained_tokens for sequence in sequences)
        moves = [[0.0] * len(TOKENS) for _ in TOKENS]
        sums = {"loss": 0.0, "ratio": 0.0}
        for sequence in sequences:
            likely = self.table.probabilities(sequence.ids[0])
            weight = 1.0 if config.loss_fn == "sft" else sequence.advantage
            for token, sampled in zip(trained(sequence), sequence.sampled, strict=True):
                new = math.log(likely[token])
                sums["loss"] -= weight * new / total
                sums["ratio"] += math.exp(new - (new if math.isnan(sampled) else sampled)) / total
                for other, probability in enumerate(likely):
                    moves[sequence.ids[0]][other] += weight * ((other == token) - probability) / total
        for row, moved in zip(self.table.logits, moves, strict=True):
            row[:] = [value + config.learning_rate * move for value, move in zip(row, moved, strict=True)]
        reward = math.fsum(sequence.reward for sequence in sequences) / len(sequences)
        return {**sums, "num_trained_tokens": total, "num_sequences": len(sequences), "reward": reward}

    def save(self, folder: Path, is_state: bool = False) -> Json:
        self.table.write(folder)
        return {"format": "letters", "engine": "letters"}


def trained(sequence: Sequence) -> Iterator[int]:
    return (token for token, is_trained in zip(sequence.ids[1:], sequence.mask[1:], strict=True) if is_trained)


class Sampler:
    """Samples from the tables, as vLLM does, for `engine_api.py`."""

    def __init__(self, name: str):
        self.name = name
        self.adapters: set[str] = set()
        self.tables = {name: Table()}
        self.draw = random.Random(time.time_ns())

    def load(self, name: str, path: str) -> None:
        self.tables[name] = Table(Path(path))
        self.adapters.add(name)

    def unload(self, name: str) -> None:
        self.adapters.remove(name)
        del self.tables[name]

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        prompt = tokenise(asked["messages"], None, True)
        likely = self.tables[asked["model"]].probabilities(prompt[0])
        choices: list[dict[str, Any]] = []
        for index in range(asked.get("n") or 1):
            ids = self.draw.choices(range(len(TOKENS)), likely, k=asked.get("max_tokens") or 3)
            said = [(TOKENS[token], math.log(likely[token])) for token in ids]
            choices.append(choice_of(index, ids, said, asked))
        return answer_of(asked["model"], prompt, choices)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="letters")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    server = serving(Sampler(given.name), given.port)
    print(f"listens at {server.server_port}", flush=True)
    server.serve_forever()
