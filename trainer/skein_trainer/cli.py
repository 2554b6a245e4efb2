"""`skein-train`: claims jobs and trains them until it is stopped."""

# ruff: noqa: PLC0415  an engine is imported with what it needs alone

import argparse
import os
import signal
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir

from skein_trainer.client import Skein, worker_name
from skein_trainer.engine import Engine, Lora
from skein_trainer.ranks import Ranks
from skein_trainer.worker import Stop, Work, Worker


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="skein-train", description=__doc__)
    add = parser.add_argument
    add("--url", default=os.environ.get("SKEIN_URL"), help="address of Skein; SKEIN_URL")
    add(
        "--key",
        default=os.environ.get("SKEIN_API_KEY"),
        help="a key with the role trainer; SKEIN_API_KEY, which ps does not show",
    )
    add("--base", required=True, help="folder of the base model, or its name on the hub")
    add("--base-model", action="append", help="what jobs call it in Skein; by default the same as --base")
    add("--engine", default="local", help="local, tinker, or module:Class of your own")
    add("--rank", type=int, default=8, help="of a new LoRA")
    add("--alpha", type=int, default=16)
    add("--targets", default="all-linear", help="names of modules, with commas between them")
    add("--seed", type=int, default=0)
    add("--device", help="by default the GPU, if there is one")
    add("--threads", type=int, help="of torch on a CPU")
    add("--once", action="store_true", help="end after one claim")
    add("--wait", type=float, default=30, help="seconds that a claim waits, at most 30")
    add("--state-seconds", type=float, default=600, help="how often the next attempt's state is sent")
    add("--work", type=Path, default=Path(gettempdir()), help="folder for files under way")
    given = parser.parse_args()
    for name in ("url", "key"):
        if not getattr(given, name):
            parser.error(f"--{name} is missing")
    if given.engine not in ("local", "tinker") and ":" not in given.engine:
        parser.error("--engine must be local, tinker or module:Class")
    return given


def engine_of(given: argparse.Namespace) -> tuple[Engine, Ranks]:
    targets = given.targets if given.targets == "all-linear" else given.targets.split(",")
    lora = Lora(given.rank, given.alpha, targets, given.seed)
    module, _, name = given.engine.partition(":")
    if name:
        return getattr(import_module(module), name)(given.base, lora), Ranks()
    if given.engine == "tinker":
        from skein_trainer.tinker_engine import TinkerEngine

        return TinkerEngine(given.base, lora), Ranks()
    import torch

    from skein_trainer.local import LocalEngine, device_of

    if given.threads:
        torch.set_num_threads(given.threads)
    device = device_of(given.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    ranks = Ranks(device)
    return LocalEngine(given.base, lora, ranks), ranks


def main() -> None:
    given = arguments()
    engine, ranks = engine_of(given)
    worker = Worker(engine, ranks, given.work, given.state_seconds)
    if not ranks.is_first:
        while not isinstance(work := ranks.share(None), Stop):
            if isinstance(work, Work):
                worker.follow(work)
        return ranks.end()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    skein = Skein(given.url, given.key)
    try:
        while True:
            job = skein.claim(worker_name(), given.base_model or [given.base], given.wait)
            if job:
                worker.run(job)
            else:
                ranks.share(None)  # so that the other ranks do not wait for ever
            if given.once:
                break
    except KeyboardInterrupt:
        print("stopped")
    ranks.share(Stop())
    ranks.end()
