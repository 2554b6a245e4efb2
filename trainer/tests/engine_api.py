"""The part of vLLM's API that the tests need, over an engine of the tests."""

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


class Engine(Protocol):
    #: Name of the base model.
    name: str
    #: Names of the LoRAs that are loaded.
    adapters: set[str]

    def load(self, name: str, path: str) -> None: ...
    def unload(self, name: str) -> None: ...
    def answer(self, asked: dict[str, Any]) -> dict[str, Any]: ...


def choice_of(index: int, ids: list[int], said: list[tuple[str, float]], asked: dict[str, Any]) -> dict[str, Any]:
    """Makes a choice of these tokens, each with its log-probability."""
    content = [{"token": token, "logprob": value, "bytes": None, "top_logprobs": []} for token, value in said]
    return {
        "index": index,
        "finish_reason": "length",
        "message": {"role": "assistant", "content": "".join(token for token, _ in said)},
        "logprobs": {"content": content} if asked.get("logprobs") else None,
        "token_ids": ids,
    }


def answer_of(model: str, prompt: list[int], choices: list[dict[str, Any]]) -> dict[str, Any]:
    sampled = sum(len(choice["token_ids"]) for choice in choices)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": choices,
        "prompt_token_ids": prompt,
        "usage": {
            "prompt_tokens": len(prompt),
            "completion_tokens": sampled,
            "total_tokens": len(prompt) + sampled,
        },
    }


class Handler(BaseHTTPRequestHandler):
    engine: Engine
    lock: threading.Lock
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/metrics":
            return self.send(200, b"", "text/plain")
        models = [{"id": name, "object": "model"} for name in [self.engine.name, *sorted(self.engine.adapters)]]
        self.send_json(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            try:
                if self.path == "/v1/load_lora_adapter":
                    self.engine.load(body["lora_name"], body["lora_path"])
                    self.send(200, b"Success", "text/plain")
                elif self.path == "/v1/unload_lora_adapter":
                    self.engine.unload(body["lora_name"])
                    self.send(200, b"Success", "text/plain")
                elif body["model"] not in {self.engine.name, *self.engine.adapters}:
                    self.send_json(404, {"error": {"message": f"The model {body['model']} does not exist."}})
                else:
                    self.send_json(200, self.engine.answer(body))
            except (KeyError, ValueError, OSError) as error:
                self.send_json(400, {"error": {"message": repr(error)}})

    def send_json(self, status: int, body: dict[str, Any]) -> None:
        self.send(status, json.dumps(body).encode(), "application/json")

    def send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def serving(engine: Engine, port: int = 0) -> ThreadingHTTPServer:
    handler = type("OfEngine", (Handler,), {"engine": engine, "lock": threading.Lock()})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)
