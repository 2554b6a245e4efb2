"""
An inference engine for the tests, instead of vLLM. It loads LoRAs of PEFT into a model of transformers with vLLM's
API, and answers chat completions with log-probabilities and token ids.

    python trainer/tests/engine_server.py --base <folder> --port 8000
"""

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch  # noqa: E402
from engine_api import answer_of, choice_of, serving  # noqa: E402
from peft import PeftModel  # noqa: E402
from tiny import write_base  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

from skein_trainer.attention import BOUNDS, NAME  # noqa: E402
from skein_trainer.data import Sequence, template_of  # noqa: E402
from skein_trainer.local import trained_logprobs  # noqa: E402


class Engine:
    def __init__(self, base: str, name: str):
        self.name = name
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
        prompt = self.tokenise(asked["messages"], asked.get("tools"), True)
        self.use(asked["model"])
        choices = [self.choice(i, prompt, asked) for i in range(asked.get("n") or 1)]
        return answer_of(asked["model"], prompt, choices)

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
        letters = self.tokenizer.convert_ids_to_tokens(ids)
        return choice_of(index, ids, list(zip(letters, logprobs, strict=True)), asked)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", required=True)
    parser.add_argument("--name", default="tiny")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if not Path(given.base).exists():
        write_base(Path(given.base))
    server = serving(Engine(given.base, given.name), given.port)
    print(f"listens at {server.server_port}", flush=True)
    server.serve_forever()
