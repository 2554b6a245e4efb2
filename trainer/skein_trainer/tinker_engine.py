"""
Trains on a server of the Tinker protocol: a hosted one, or SkyRL. The SDK (`pip install './trainer[tinker]'`) reads
the address and the key from TINKER_BASE_URL and TINKER_API_KEY. This engine defines the losses and their clips; the
server keeps the tensors.
"""

import importlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from torch import Tensor
from transformers import AutoTokenizer

from skein_trainer.client import Json
from skein_trainer.data import Config, Example, Sequence, template_of, tokens_of
from skein_trainer.engine import Lora
from skein_trainer.losses import Batch, clip_bounds, loss_of, means, needs_start, pack_of

#: Losses that servers compute themselves. For the others, this engine computes the gradient on the log-probabilities.
OF_SERVERS = {"sft": "cross_entropy", "ppo": "ppo", "cispo": "cispo"}
STATE = "tinker.json"
PREFIX = "tinker://"
CPU = torch.device("cpu")


class TinkerEngine:
    def __init__(self, base: str, lora: Lora):
        self.sdk = importlib.import_module("tinker")
        self.types = self.sdk.types
        self.service: Any = None
        self.base, self.lora = base, lora
        self.tokenise = template_of(lambda: AutoTokenizer.from_pretrained(base))
        self.client: Any = None

    def start(self, folder: Path | None, config: Config, uri: str | None = None) -> None:
        state = folder / STATE if folder else None
        path = json.loads(state.read_text())["path"] if state and state.exists() else uri
        if path is None and folder is not None:
            raise ValueError(
                "the parent has files of another engine, which a server of the Tinker protocol cannot read"
            )
        self._new_session()
        if path is None:
            made = self.service.create_lora_training_client(self.base, rank=self.lora.rank, seed=self.lora.seed)
        elif path.startswith(PREFIX):
            made = self.service.create_training_client_from_state_with_optimizer(path)
        else:
            raise ValueError(f"the parent is at {path}, which is no checkpoint of the Tinker protocol")
        self.client = made.result() if hasattr(made, "result") else made  # newer SDKs return a future

    def _new_session(self) -> None:
        """
        Begins a new session. A server keeps the models of a session until it ends, and has room for few of them.
        """
        with suppress(Exception):  # a session that cannot be closed expires
            if hasattr(self.service, "close"):
                self.service.close("success").result()
            elif self.service:  # older SDKs
                self.service.holder.close()
        self.service = self.sdk.ServiceClient()

    def prepare(self, examples: list[Example], config: Config) -> None:
        if not needs_start(examples, config):
            return
        sequences = [sequence for example in examples for sequence in example]
        data = [self._datum(sequence, "cross_entropy") for sequence in sequences]
        outputs = self.client.forward(data, "cross_entropy").result().loss_fn_outputs
        for sequence, found in zip(sequences, outputs, strict=True):
            sequence.start = trained(sequence, torch.tensor(found["logprobs"].data)).tolist()

    def step(self, examples: list[Example], config: Config) -> dict[str, float]:
        sequences = [sequence for example in examples for sequence in example]
        batch = Batch(sum(sequence.trained_tokens for sequence in sequences), len(sequences), len(examples))
        is_of_server = config.loss_fn in OF_SERVERS and not config.truncated_importance_sampling
        sums: dict[str, Tensor] = {}

        def loss(_: Any, logprobs: list[Tensor]) -> tuple[Tensor, dict[str, float]]:
            new = torch.cat([trained(one, found) for one, found in zip(sequences, logprobs, strict=True)])
            pack = pack_of(sequences, CPU)
            if config.loss_fn == "kto":
                batch.kl = max(0.0, (new.detach() - pack.start).sum().item() / len(sequences))
            value, metrics = loss_of(config, new, pack, batch)
            sums.update({"loss": value.detach(), **metrics})
            return value, {}

        if is_of_server:
            name = OF_SERVERS[config.loss_fn]
            low, high = (0.0, 0.0) if name == "cross_entropy" else clip_bounds(config)
            bounds = (
                None if name == "cross_entropy" else {"clip_low_threshold": 1 - low, "clip_high_threshold": 1 + high}
            )
            data = [self._datum(sequence, name) for sequence in sequences]
            outputs = self.client.forward_backward(data, name, bounds).result().loss_fn_outputs
            with torch.no_grad():
                loss(data, [torch.tensor(found["logprobs"].data) for found in outputs])
        else:
            data = [self._datum(sequence, "cross_entropy") for sequence in sequences]
            self.client.forward_backward_custom(data, loss).result()
        adam = self.types.AdamParams(
            learning_rate=config.learning_rate,
            beta1=0.9,
            beta2=0.99,
            eps=1e-8,
            weight_decay=config.weight_decay,
            # servers sum over tokens, and this engine takes the mean
            grad_clip_norm=config.max_grad_norm * (batch.tokens if is_of_server else 1),
        )
        self.client.optim_step(adam).result()
        return {
            **means({name: value.item() for name, value in sums.items()}, batch),
            "learning_rate": config.learning_rate,
            "num_trained_tokens": batch.tokens,
            "num_tokens": sum(tokens_of(example) for example in examples),
            "num_sequences": batch.sequences,
            "reward": sum(sequence.reward for sequence in sequences) / len(sequences),
        }

    def _datum(self, sequence: Sequence, loss_fn: str) -> Any:
        """
        Makes a datum. Its position i predicts token i + 1: inputs are all tokens but the last, targets all but the
        first.
        """
        mask = sequence.mask[1:]
        inputs: dict[str, list[float]] = {"target_tokens": list(sequence.ids[1:])}
        if loss_fn == "cross_entropy":
            inputs["weights"] = [float(is_trained) for is_trained in mask]
        else:  # an advantage of 0 masks a token
            pack = pack_of([sequence], CPU)
            old = iter(torch.where(pack.sampled.isnan(), pack.start, pack.sampled).tolist())
            inputs["logprobs"] = [next(old) if is_trained else 0.0 for is_trained in mask]
            inputs["advantages"] = [sequence.advantage if is_trained else 0.0 for is_trained in mask]
        data = {name: self._tensor(name, values) for name, values in inputs.items()}
        return self.types.Datum(
            model_input=self.types.ModelInput.from_ints(tokens=sequence.ids[:-1]), loss_fn_inputs=data
        )

    def _tensor(self, name: str, values: list[float]) -> Any:
        dtype = "int64" if name == "target_tokens" else "float32"
        return self.types.TensorData(data=values, dtype=dtype, shape=[len(values)])

    def save(self, folder: Path, is_state: bool = False) -> Json:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"skein-{uuid4().hex}"
        path = self.client.save_state(name).result().path
        (folder / STATE).write_text(json.dumps({"path": path}))
        about: Json = {"format": "tinker", "engine": "tinker", "base": self.base, "uri": path}
        if not is_state:
            about["sampler"] = self.client.save_weights_for_sampler(name).result().path
        return about


def trained(sequence: Sequence, logprobs: Tensor) -> Tensor:
    return logprobs[torch.tensor(sequence.mask[1:])]
