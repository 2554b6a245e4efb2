"""
An inference engine for the tests, in the place of vLLM: it loads LoRAs of PEFT into a model of transformers by vLLM's
API, and answers chat completions with log-probabilities and token ids.

    python trainer/tests/engine_server.py --base <folder> --port 8000
"""

import argparse
import json
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch  # noqa: E402
from peft import PeftModel  # noqa: E402
from tiny import write_base  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

from skein_trainer.attention import BOUNDS, NAME  # noqa: E402
from skein_trainer.data import Sequence, template_of  # noqa: E402
from skein_trainer.local import trained_logprobs  # noqa: E402


class Engine:
    def __init__(self, base: str, name: str):
        self.name, self.lock = name, threading.Lock()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base)
        self.tokenise = template_of(lambda: self.tokenizer)
        self.base: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).requires_grad_(False)
        self.base.set_attn_implementation(NAME)
        self.model: Any = None
        self.adapters: set[str] = set()
        self.draw = torch.Generator().manual_seed(5)

    def load(self, name: str, path: str) -> None:
        if self.model is None:
            options = {"adapter_name": name, "autocast_adapter_dtype": False}
            self.model = PeftModel.from_pretrained(self.base, path, **options)
        else:
            self.model.load_adapter(path, name, autocast_adapter_dtype=False)
        self.adapters.add(name)

    def unload(self, name: str) -> None:
        self.adapters.remove(name)
        if self.adapters:
            self.model.delete_adapter(name)
        else:
            self.base, self.model = self.model.unload(), None

    def use(self, name: str) -> None:
        if self.model is None:
            return
        if name == self.name:
            self.model.base_model.disable_adapter_layers()
        else:
            self.model.base_model.enable_adapter_layers()
            self.model.set_adapter(name)

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = asked["model"]
        prompt = self.tokenise(asked["messages"], asked.get("tools"), True)
        self.use(name)
        choices = [self.choice(i, prompt, asked) for i in range(asked.get("n") or 1)]
        sampled = sum(len(choice["token_ids"]) for choice in choices)
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": 1,
            "model": name,
            "choices": choices,
            "prompt_token_ids": prompt,
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": sampled,
                "total_tokens": len(prompt) + sampled,
            },
        }

    def choice(self, index: int, prompt: list[int], asked: dict[str, Any]) -> dict[str, Any]:
        one = Sequence()
        one.extend(prompt, None)
        with torch.no_grad():
            for _ in range(asked.get("max_tokens") or 16):
                BOUNDS.set([len(one.ids)], self.base.device)
                answer = self.base(input_ids=torch.tensor([one.ids]), use_cache=False)
                token = int(torch.multinomial(answer.logits[0, -1].softmax(-1), 1, generator=self.draw))
                one.extend([token], [0.0])
            logprobs = trained_logprobs(self.base, [one]).tolist()
        ids = one.ids[len(prompt) :]
        content = [
            {"token": self.tokenizer.decode([token]), "logprob": value, "bytes": None, "top_logprobs": []}
            for token, value in zip(ids, logprobs, strict=True)
        ]
        text = "".join(self.tokenizer.convert_ids_to_tokens(ids))
        return {
            "index": index,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": text},
            "logprobs": {"content": content} if asked.get("logprobs") else None,
            "token_ids": ids,
        }


class Handler(BaseHTTPRequestHandler):
    engine: Engine
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/metrics":
            return self.send(200, b"", "text/plain")
        models = [{"id": name, "object": "model"} for name in [self.engine.name, *sorted(self.engine.adapters)]]
        self.send_json(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.engine.lock:
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


def serving(base: str, name: str, port: int = 0) -> ThreadingHTTPServer:
    handler = type("OfEngine", (Handler,), {"engine": Engine(base, name)})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", required=True)
    parser.add_argument("--name", default="tiny")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if not Path(given.base).exists():
        write_base(Path(given.base))
    server = serving(given.base, given.name, given.port)
    print(f"listens at {server.server_port}", flush=True)
    server.serve_forever()
