"""Tests `skein-serve` with a small Skein that records requests, and an engine that loads LoRAs with PEFT."""

import json
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_api import serving
from engine_server import Engine
from test_engine import moved
from tiny import write_base

from skein_trainer.client import Skein, digest_of
from skein_trainer.data import Config, Sequence
from skein_trainer.engine import Lora
from skein_trainer.local import LocalEngine
from skein_trainer.ranks import Ranks
from skein_trainer.serve import Server, Settings, Vllm

MODEL = "01a1fbc3-f5fb-72fa-bfb3-04f663804a7c"
API = "/v1/preview/trainer"


class SmallSkein(BaseHTTPRequestHandler):
    """The routes that a server of models requests. A test sets `steps` and `files`."""

    steps: list[dict[str, Any]]
    files: Path
    told: list[tuple[str, dict[str, Any]]]
    spoiled: set[int]

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == f"{API}/models":
            model = {"id": MODEL, "entity": "e", "project": "p", "name": "m", "base_model": "tiny"}
            return self.send({"data": [{**model, "steps": self.steps}], "has_more": False, "last_id": MODEL})
        step = int(path.split("/")[7])
        if path.endswith("/files"):
            files = [
                {"name": file.name, "size_bytes": file.stat().st_size, "sha256": digest_of(file)}
                for file in self.files.iterdir()
            ]
            return self.send({"files": files})
        content = (self.files / urllib.parse.parse_qs(query)["name"][0]).read_bytes()
        self.send_bytes(bytes(len(content)) if step in self.spoiled else content)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.told.append((self.path.removeprefix(f"{API}/"), body))
        self.send({"expires_at": "2026-01-01T00:00:00Z"})

    def send(self, body: Any) -> None:
        self.send_bytes(json.dumps(body).encode())

    def send_bytes(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def run(server: ThreadingHTTPServer) -> str:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def skein(tmp_path: Path) -> Iterator[type[SmallSkein]]:
    trained = LocalEngine(base := write_base(tmp_path / "base"), Lora(), Ranks(torch.device("cpu")))
    moved(trained, Config())
    trained.save(tmp_path / "files")
    given = {"steps": [], "files": tmp_path / "files", "told": [], "spoiled": set()}
    handler = type("OfTest", (SmallSkein,), given)
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler), serving(Engine(base, "tiny"))]
    handler.urls = [run(server) for server in servers]  # pyright: ignore[reportAttributeAccessIssue]
    yield handler
    for server in servers:
        server.shutdown()
        server.server_close()


def a_server(skein: Any, tmp_path: Path, **settings: Any) -> Server:
    url, engine = skein.urls
    given = {"provider": "vllm", "folder": tmp_path / "loras", "newest": 1, "grace_s": 0, **settings}
    return Server(Skein(url, "key"), Vllm(engine), Settings(**given))


def a_step(step: int, *aliases: str) -> dict[str, Any]:
    return {"step": step, "files": step > 0, "aliases": list(aliases)}


def told(skein: type[SmallSkein]) -> list[tuple[str, int, str | None]]:
    seen = [(path, body["step"], body.get("upstream_model")) for path, body in skein.told]
    skein.told.clear()
    return seen


def test_the_newest_and_those_with_an_alias_are_served_and_others_go(skein: type[SmallSkein], tmp_path: Path):
    server = a_server(skein, tmp_path)
    skein.steps = [a_step(1), a_step(0)]
    server.tick()
    assert told(skein) == [("serving", 1, f"{MODEL}-step1"), ("serving", 0, "tiny")]
    server.tick()
    assert told(skein) == []  # it is renewed after a third of its time
    server.ready = dict.fromkeys(server.ready, 0.0)
    server.tick()
    assert [(path, step) for path, step, _ in told(skein)] == [("serving", 1), ("serving", 0)]
    assert not (tmp_path / "loras" / f"{MODEL}-step1" / "optimizer.safetensors").exists()

    skein.steps = [a_step(3), a_step(2), a_step(1, "current"), a_step(0)]
    server.tick()
    assert told(skein) == [("serving", 3, f"{MODEL}-step3")]
    assert server.engine.models() == {"tiny", f"{MODEL}-step1", f"{MODEL}-step3"}
    skein.steps = [a_step(3, "current"), a_step(2), a_step(1), a_step(0)]
    server.tick()
    assert told(skein) == [("serving/end", 1, None)]
    assert server.engine.models() == {"tiny", f"{MODEL}-step3"}
    assert [folder.name for folder in (tmp_path / "loras").iterdir()] == [f"{MODEL}-step3"]


def test_the_engine_computes_what_the_trainer_does(skein: type[SmallSkein], tmp_path: Path):
    server = a_server(skein, tmp_path)
    skein.steps = [a_step(1), a_step(0)]
    server.tick()
    trainer = LocalEngine(str(tmp_path / "base"), Lora(), Ranks(torch.device("cpu")))
    config = Config(packed_sequence_length=1)
    for name, folder in ((f"{MODEL}-step1", tmp_path / "files"), ("tiny", None)):
        asked = {"model": name, "messages": [{"role": "user", "content": "a?"}], "logprobs": True, "max_tokens": 5}
        answer = json.loads(server.engine.ask("/v1/chat/completions", asked))
        (choice,) = answer["choices"]
        trainer.start(folder, config)
        one = Sequence()
        one.extend(answer["prompt_token_ids"], None)
        one.extend(choice["token_ids"], [0.0] * 5)
        assert trainer.logprobs([[one]], config) == [[token["logprob"] for token in choice["logprobs"]["content"]]]


def test_what_is_in_use_stays_and_files_that_do_not_arrive_whole_are_not_served(
    skein: type[SmallSkein], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server = a_server(skein, tmp_path)
    skein.steps = [a_step(1)]
    server.tick()
    skein.steps, skein.spoiled = [a_step(2)], {2}
    busy = f'vllm:lora_requests_info{{max_lora="1",running_lora_adapters="",waiting_lora_adapters="{MODEL}-step1"}} 5.0'
    idle = 'vllm:lora_requests_info{max_lora="1",running_lora_adapters="",waiting_lora_adapters=""} 6.0'
    ask = server.engine.ask
    metrics = [busy]
    monkeypatch.setattr(
        server.engine, "ask", lambda path, *more: "\n".join(metrics) if path == "/metrics" else ask(path, *more)
    )
    told(skein)
    server.tick()
    assert told(skein) == [("serving/end", 1, None)]
    assert server.engine.models() == {"tiny", f"{MODEL}-step1"}
    metrics.append(idle)
    server.tick()
    assert server.engine.models() == {"tiny"}


def test_an_engine_that_was_started_again_gets_its_loras_again(skein: type[SmallSkein], tmp_path: Path):
    server = a_server(skein, tmp_path)
    skein.steps = [a_step(1)]
    server.tick()
    server.engine.unload(f"{MODEL}-step1")
    told(skein)
    server.tick()
    assert told(skein) == [("serving", 1, f"{MODEL}-step1")]
    assert server.engine.models() == {"tiny", f"{MODEL}-step1"}
