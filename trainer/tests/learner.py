"""
Acts as an agent around a trainer, for the tests of the repository: loads the newest checkpoint from Skein, samples
with it, scores the answers, submits them as a job, and waits for its end.

    python trainer/tests/learner.py --base <folder> --model <id> --rounds 16 [--shuffle]
"""

import argparse
import json
import math
import os
import random
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch  # noqa: E402
from letters import ALPHABET, END  # noqa: E402
from tiny import write_base  # noqa: E402

from skein_trainer.attention import BOUNDS  # noqa: E402
from skein_trainer.data import Config, Reader  # noqa: E402
from skein_trainer.engine import Lora  # noqa: E402
from skein_trainer.local import LocalEngine  # noqa: E402
from skein_trainer.ranks import Ranks  # noqa: E402

#: The rewarded letters for each prompt: about a fourth of all letters.
WANTED = {"a?": "0123456789", "b?": "klmnopqrst", "c?": "abcdefghij", "d?": "uvwxyz?: "}
ANSWERS, LENGTH = 16, 3
CONFIG = {"loss_fn": "cispo", "learning_rate": 0.01}


class Learner:
    def __init__(self, base: str, model: str, seed: int):
        self.url, self.key, self.model = os.environ["SKEIN_URL"], os.environ["SKEIN_API_KEY"], model
        self.config = Config.of(CONFIG)
        self.engine = LocalEngine(base, Lora(), Ranks(torch.device("cpu")))
        self.draw, self.shuffle = torch.Generator().manual_seed(seed), random.Random(seed)

    def ask(self, path: str, body: Any = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/v1/preview{path}", data, headers)) as answer:
            return answer.read()

    def newest(self, folder: Path) -> int:
        """Loads the newest checkpoint."""
        path = f"/models/{self.model}/checkpoints"
        step = json.loads(self.ask(f"{path}?order=desc&limit=1"))["data"][0]["step"]
        for file in json.loads(self.ask(f"{path}/{step}"))["files"]:
            (folder / file["name"]).write_bytes(self.ask(f"{path}/{step}/file?name={file['name']}"))
        self.engine.start(folder if step else None, self.config)
        return step

    def sample(self, prompt: list[int]) -> list[list[int]]:
        ids = torch.tensor([prompt] * ANSWERS)
        for _ in range(LENGTH):
            BOUNDS.set([ids.shape[1]] * ANSWERS, ids.device)
            positions = torch.arange(ids.shape[1]).repeat(ANSWERS).unsqueeze(0)
            with torch.no_grad():
                answer = self.engine.base(input_ids=ids.reshape(1, -1), position_ids=positions, use_cache=False)
            last = answer.logits.view(ANSWERS, ids.shape[1], -1)[:, -1]
            ids = torch.cat([ids, torch.multinomial(last.softmax(-1), 1, generator=self.draw)], dim=1)
        return ids[:, len(prompt) :].tolist()

    def rollouts(self) -> list[dict[str, Any]]:
        groups: list[dict[str, Any]] = []
        for text, wanted in WANTED.items():
            messages = [{"role": "user", "content": text}]
            prompt = self.engine.tokenise(messages, None, True)
            trajectories: list[dict[str, Any]] = []
            for ids in self.sample(prompt):
                letters = [[*ALPHABET, END][token] for token in ids]
                choice = {
                    "finish_reason": "length",
                    "index": 0,
                    "message": {"role": "assistant", "content": "".join(letters)},
                    "prompt_token_ids": prompt,
                    "token_ids": ids,
                }
                reward = sum(letter in wanted for letter in letters) / LENGTH
                trajectories.append({"messages_and_choices": [*messages, choice], "reward": reward})
            groups.append({"trajectories": trajectories})
        return groups

    def note_logprobs(self, groups: list[dict[str, Any]]) -> None:
        """
        Records log-probabilities as a sampler would that computes exactly as the trainer does: with the same rows
        side by side.
        """
        reader = Reader(self.config, self.engine.tokenise)
        for group in groups:
            reader.add(group)
        known: dict[tuple[int, ...], list[float]] = {}
        found = self.engine.logprobs(reader.examples, self.config)
        for example, values in zip(reader.examples, found, strict=True):
            known[tuple(example[0].ids)] = values
        for group in groups:
            for trajectory in group["trajectories"]:
                choice = trajectory["messages_and_choices"][-1]
                values = known.get((*choice["prompt_token_ids"], *choice["token_ids"]), [math.nan] * LENGTH)
                if not math.isnan(values[0]):
                    content = [
                        {"token": f"token_id:{token}", "logprob": value}
                        for token, value in zip(choice["token_ids"], values, strict=True)
                    ]
                    choice["logprobs"] = {"content": content}

    def round(self, is_shuffled: bool) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            step = self.newest(Path(folder))
        groups = self.rollouts()
        trajectories = [trajectory for group in groups for trajectory in group["trajectories"]]
        rewards = [trajectory["reward"] for trajectory in trajectories]
        mean = sum(rewards) / len(rewards)
        if is_shuffled:
            self.shuffle.shuffle(rewards)
            for trajectory, reward in zip(trajectories, rewards, strict=True):
                trajectory["reward"] = reward
        self.note_logprobs(groups)
        body = {"model_id": self.model, "trajectory_groups": groups, "experimental_config": CONFIG}
        job = json.loads(self.ask("/training-jobs", body))["id"]
        while True:
            events = json.loads(self.ask(f"/training-jobs/{job}/events?limit=100"))["data"]
            if events and events[-1]["type"] in ("training_ended", "training_failed"):
                break
            time.sleep(0.05)
        steps = [event["data"] for event in events if event["type"] == "gradient_step"]
        notes = [event["data"] for event in events if event["type"] in ("note", "training_failed")]
        return {"step": step, "reward": mean, "steps": steps, "notes": notes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", required=True)
    parser.add_argument("--model")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--groups", action="store_true", help="print rollouts of the base model, and end")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if not Path(given.base).exists():
        write_base(Path(given.base))
    learner = Learner(given.base, given.model, seed=5)
    if given.groups:
        learner.engine.start(None, learner.config)
        groups = learner.rollouts()
        learner.note_logprobs(groups)
        print(json.dumps(groups))
        return
    print(json.dumps([learner.round(given.shuffle) for _ in range(given.rounds)]))


if __name__ == "__main__":
    main()
