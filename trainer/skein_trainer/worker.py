"""Runs a job from the claim to its end. Rank 0 communicates with Skein; the other ranks make the same steps."""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from skein_trainer.client import Job, Json, LeaseLost
from skein_trainer.data import Config, Example, Reader, RowReader
from skein_trainer.engine import Engine
from skein_trainer.ranks import Ranks

PROGRESS = "progress.json"


class Stop:
    """Sent to the other ranks when rank 0 ends."""


@dataclass
class Work:
    """The data of a job that every rank needs."""

    config: Config
    examples: list[Example]
    #: Files that rank 0 has fetched for the other ranks: an adapter is small.
    files: dict[str, bytes]
    #: Location of the parent, if Skein does not store its files.
    uri: str | None


class Worker:
    def __init__(self, engine: Engine, ranks: Ranks, folder: Path, state_seconds: float):
        self.engine, self.ranks, self.folder, self.state_seconds = engine, ranks, folder, state_seconds

    def run(self, job: Job) -> None:
        """Runs a job on rank 0. Reports every failure, unless the lease is lost."""
        print(f"job {job.id}, attempt {job.claim['attempt']}", flush=True)
        with job, tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            try:
                answer = self._train(job, Path(scratch))
                made = "made" if answer["made_step"] else "had nothing to learn at"
                print(f"job {job.id} {made} step {answer['step']}", flush=True)
                return
            except LeaseLost as error:
                print(f"job {job.id} is no longer ours: {error}", file=sys.stderr)
            except Exception as error:
                print(f"job {job.id} failed: {error!r}", file=sys.stderr)
                report = {"error_message": repr(error), "retryable": isinstance(error, OSError)}
                try:
                    job.post("fail", report)
                except Exception as lost:  # the lease then expires, and the job is tried again
                    print(f"could not report it: {lost}", file=sys.stderr)
                if self.ranks.size > 1:
                    raise  # the other ranks wait for this one: torchrun restarts all of them

    def follow(self, work: Work) -> None:
        """Runs a job on the other ranks."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            for name, content in work.files.items():
                path = Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            for _ in self._steps(work, Path(scratch)):
                pass

    def _train(self, job: Job, scratch: Path) -> Json:
        claim = job.claim
        config = Config.of_job(claim)
        is_sft = claim.get("kind") == "sft"
        reader = (RowReader if is_sft else Reader)(config, self.engine.tokenise)
        for group in job.groups():
            reader.add(group)
        num_steps = sum(1 for _ in batches_of(reader.examples, config))
        if reader.examples:
            config.at(num_steps - 1)  # raises an error when the list of rates is too short
        num_sequences = sum(len(example) for example in reader.examples)
        # clients expect this number of gradient steps for a job on conversations
        job.report("training_started", {"num_sequences": num_steps if is_sft else num_sequences})
        for level, text in reader.notes():
            job.report("note", {"level": level, "text": text})
        if not reader.examples:
            return job.post("complete", {"metrics": reader.metrics(), "made_step": False, "reason": reader.reason()})
        job.fetch("parent", claim["parent"]["files"], scratch / "parent")
        job.fetch("state", claim["state"] or [], scratch / "state")
        files = files_in(scratch) if self.ranks.size > 1 else {}
        work = Work(config, reader.examples, files, claim["parent"]["uri"])
        self.ranks.share(work)
        saved = time.monotonic()
        metrics: dict[str, float] = {}
        for done, metrics in self._steps(work, scratch):
            job.report("gradient_step", metrics)
            if time.monotonic() - saved >= self.state_seconds:
                state = scratch / f"state-{done}"
                self.engine.save(state, is_state=True)
                (state / PROGRESS).write_text(json.dumps({"steps": done}))
                job.post("state", {"files": job.send(state)})
                saved = time.monotonic()
        made = scratch / "checkpoint"
        about = self.engine.save(made)
        uri = about.pop("uri", None)
        used = asdict(config.at(num_steps - 1))
        about |= {"loss": config.loss_fn, "experimental_config": used}
        checkpoint = {**({"uri": uri} if uri else {"files": job.send(made)}), "config": about}
        last = {f"train/{name}": value for name, value in metrics.items()}
        return job.post("complete", {"metrics": {**last, **reader.metrics()}, "checkpoint": checkpoint})

    def _steps(self, work: Work, scratch: Path) -> Iterator[tuple[int, dict[str, float]]]:
        """
        Yields the number of gradient steps so far, and the metrics of the last one. Skips the steps before a saved
        state.
        """
        config, examples = work.config, work.examples
        parent, state = scratch / "parent", scratch / "state"
        self.engine.start(parent if parent.exists() else None, config, work.uri)
        self.engine.prepare(examples, config)
        skipped = 0
        if state.exists():
            skipped = json.loads((state / PROGRESS).read_text())["steps"]
            self.engine.start(state, config)
        for at, batch in enumerate(batches_of(examples, config)):
            if at >= skipped:
                yield at + 1, self.engine.step(batch, config.at(at))


def batches_of(examples: list[Example], config: Config) -> Iterator[list[Example]]:
    """Yields the batches, which are the same for each attempt."""
    size = config.batch_size or len(examples)
    for epoch in range(config.num_epochs):
        order = list(examples)
        if config.shuffle and size < len(examples):
            random.Random(f"{config.seed} {epoch}").shuffle(order)
        for at in range(0, len(order), size):
            yield order[at : at + size]


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
