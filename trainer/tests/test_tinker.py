"""
Tests engine tinker against SkyRL, if `skyrl[jax,tinker]` is installed. It trains the tiny model with JAX on a CPU.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from test_engine import examples, record
from tiny import write_base

from skein_trainer.data import Config
from skein_trainer.engine import Lora
from skein_trainer.local import LocalEngine
from skein_trainer.ranks import Ranks

has_skyrl = all(importlib.util.find_spec(name) for name in ("skyrl", "jax", "tinker", "fastapi"))
pytestmark = pytest.mark.skipif(not has_skyrl, reason="skyrl[jax,tinker] is not installed")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Starts a server, and returns the folder of the base model that it trains."""
    folder = tmp_path_factory.mktemp("skyrl")
    made = write_base(folder / "base")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(Path(__file__).with_name("skyrl_server.py")), made, str(port), str(folder)]
    server = subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    os.environ |= {"TINKER_BASE_URL": f"http://127.0.0.1:{port}", "TINKER_API_KEY": "tml-test", "TINKER_TELEMETRY": "0"}
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/healthz").close()
            break
        except OSError:
            time.sleep(0.2)
    yield made
    server.terminate()
    server.wait()


@pytest.mark.parametrize("loss_fn", ["cispo", "sft", "dpo"])
def test_two_steps_are_those_of_our_losses_and_a_state_goes_on(base: str, loss_fn: str, tmp_path: Path):
    from skein_trainer.tinker_engine import TinkerEngine  # noqa: PLC0415

    config = Config.of({"loss_fn": loss_fn, "learning_rate": 0.01})
    local = LocalEngine(base, Lora(), Ranks(torch.device("cpu")))
    local.start(None, config)
    given = examples()
    if loss_fn == "dpo":
        flat = [one for example in given for one in example]
        given = [[flat[i + 1], flat[i]] for i in range(0, len(flat), 2)]
    record(local, given, config)
    local.prepare(given, config)
    expected = local.step(given, config)

    engine = TinkerEngine(base, Lora())
    engine.start(None, config)
    engine.prepare(given, config)
    first = engine.step(given, config)
    # a new adapter is zero: the base model, with our tokens and masks, gives our loss
    shared = {"loss", "ratio", "kl", "margin", "num_trained_tokens", "num_tokens", "reward"} & set(expected)
    assert {name: first[name] for name in shared} == pytest.approx({name: expected[name] for name in shared}, abs=1e-4)
    second = engine.step(given, config)
    if loss_fn == "cispo":
        assert second["kl"] != pytest.approx(first["kl"], abs=1e-3)
    else:
        assert second["loss"] < first["loss"]

    about = engine.save(tmp_path)
    assert about["uri"].startswith("tinker://")
    assert about["sampler"].startswith("tinker://")
    third = engine.step(given, config)
    for start in ((tmp_path, None), (None, about["uri"])):
        other = TinkerEngine(base, Lora())
        other.start(start[0], config, start[1])
        assert other.step(given, config)["loss"] == pytest.approx(third["loss"], abs=1e-5)


def test_checkpoints_of_other_engines_are_refused(base: str, tmp_path: Path):
    from skein_trainer.tinker_engine import TinkerEngine  # noqa: PLC0415

    engine = TinkerEngine(base, Lora())
    with pytest.raises(ValueError, match="another engine"):
        engine.start(tmp_path, Config())
    with pytest.raises(ValueError, match="no checkpoint of the Tinker protocol"):
        engine.start(None, Config(), "file:///somewhere")


def test_a_job_ends_the_session_of_the_one_before(base: str):
    """Checks that a server unloads the models of a session without heartbeats."""
    from skein_trainer.tinker_engine import TinkerEngine  # noqa: PLC0415

    engine = TinkerEngine(base, Lora())
    engine.start(None, Config())
    before = engine.service.holder._session_heartbeat_task
    assert not before.done()
    engine.start(None, Config())
    deadline = time.monotonic() + 30
    while not before.done():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not engine.service.holder._session_heartbeat_task.done()
