"""One job from claim to end. Rank 0 speaks with Skein; the others do the same steps."""

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from skein_trainer.client import Job, Json, LeaseLost
from skein_trainer.data import Config, Example, Reader
from skein_trainer.engine import Engine
from skein_trainer.ranks import Ranks

PROGRESS = "progress.json"


class Stop:
    """Rank 0 ends."""


@dataclass
class Work:
    """What every rank needs of a job."""

    config: Config
    examples: list[Example]
    #: What rank 0 has fetched, for the others: an adapter is small.
    files: dict[str, bytes]


class Worker:
    def __init__(self, engine: Engine, ranks: Ranks, folder: Path, state_seconds: float):
        self.engine, self.ranks, self.folder, self.state_seconds = engine, ranks, folder, state_seconds

    def run(self, job: Job) -> None:
        """Of rank 0. Whatever goes wrong is reported, unless the job is no longer ours."""
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
                except Exception as lost:  # then the lease runs out, and the job is tried again
                    print(f"could not report it: {lost}", file=sys.stderr)
                if self.ranks.size > 1:
                    raise  # the other ranks wait for this one: torchrun starts them all again

    def follow(self, work: Work) -> None:
        """Of the other ranks."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            for name, content in work.files.items():
                path = Path(scratch) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            for _ in self._steps(work, Path(scratch)):
                pass

    def _train(self, job: Job, scratch: Path) -> Json:
        claim = job.claim
        config = Config.of(claim["experimental_config"])
        reader = Reader(config, self.engine.tokenise)
        for group in job.groups():
            reader.add(group)
        job.report("training_started", {"num_sequences": sum(len(example) for example in reader.examples)})
        for level, text in notes_of(reader):
            job.report("note", {"level": level, "text": text})
        if not reader.examples:
            return job.post(
                "complete", {"metrics": rewards_of(reader), "made_step": False, "reason": reason_of(reader)}
            )
        job.fetch("parent", claim["parent"]["files"], scratch / "parent")
        job.fetch("state", claim["state"] or [], scratch / "state")
        work = Work(config, reader.examples, files_in(scratch) if self.ranks.size > 1 else {})
        self.ranks.share(work)
        saved = time.monotonic()
        metrics: dict[str, float] = {}
        for done, metrics in self._steps(work, scratch):
            job.report("gradient_step", metrics)
            if time.monotonic() - saved >= self.state_seconds:
                state = scratch / f"state-{done}"
                self.engine.save(state)
                (state / PROGRESS).write_text(json.dumps({"steps": done}))
                job.post("state", {"files": job.send(state)})
                saved = time.monotonic()
        made = scratch / "checkpoint"
        about = {**self.engine.save(made), "loss": config.loss_fn, "experimental_config": asdict(config)}
        checkpoint = {"files": job.send(made), "config": about}
        last = {f"train/{name}": value for name, value in metrics.items()}
        return job.post("complete", {"metrics": {**last, **rewards_of(reader)}, "checkpoint": checkpoint})

    def _steps(self, work: Work, scratch: Path) -> Iterator[tuple[int, dict[str, float]]]:
        """How many gradient steps are done, and what the last one says. Those before a state are skipped."""
        config, examples = work.config, work.examples
        parent, state = scratch / "parent", scratch / "state"
        self.engine.start(parent if parent.exists() else None, config)
        self.engine.prepare(examples, config)
        skipped = 0
        if state.exists():
            skipped = json.loads((state / PROGRESS).read_text())["steps"]
            self.engine.start(state, config)
        for at, batch in enumerate(batches_of(examples, config)):
            if at >= skipped:
                yield at + 1, self.engine.step(batch, config)


def batches_of(examples: list[Example], config: Config) -> Iterator[list[Example]]:
    """The same ones for each attempt."""
    size = config.batch_size or len(examples)
    for epoch in range(config.num_epochs):
        order = list(examples)
        if size < len(examples):
            random.Random(f"{config.seed} {epoch}").shuffle(order)
        for at in range(0, len(order), size):
            yield order[at : at + size]


def notes_of(reader: Reader) -> Iterator[tuple[str, str]]:
    if reader.retokenised:
        yield (
            "warning",
            f"{reader.retokenised} choices without token ids were tokenised anew, perhaps not as they were sampled",
        )
    if reader.unreadable:
        yield "warning", f"{reader.unreadable} choices were left out: the chat template does not show where they begin"
    if reader.without_signal:
        yield "info", f"{reader.without_signal} groups were left out: their rewards do not differ"


def reason_of(reader: Reader) -> str:
    if not reader.rewards:
        return "the job has no trajectories with a reward"
    if reader.without_signal:
        return "the rewards do not differ in any group"
    return "no trajectory has a token to train"


def rewards_of(reader: Reader) -> dict[str, float]:
    return {"train/reward": statistics.fmean(reader.rewards)} if reader.rewards else {}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
