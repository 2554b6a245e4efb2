"""Trains a LoRA in this process, with torch, transformers and peft."""

import os
from pathlib import Path
from typing import Any, cast

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import AutoModelForCausalLM, AutoTokenizer

from skein_trainer.attention import BOUNDS, NAME, choose_kernel
from skein_trainer.client import Json
from skein_trainer.data import Config, Example, Sequence, packs, template_of, tokens_of
from skein_trainer.engine import Lora
from skein_trainer.losses import Batch, loss_of, means, needs_start, pack_of
from skein_trainer.ranks import Ranks

#: Number of tokens whose logits are in memory at once.
LOGITS_AT_ONCE = 2048
ADAPTER = "adapter_model.safetensors"
OPTIMIZER = "optimizer.safetensors"


class LocalEngine:
    """
    Trains a LoRA on an unchanged base model, in bf16 on a GPU and in float32 on a CPU. The adapter computes in the
    same type. The optimizer has a copy of the adapter in float32, which checkpoints contain.
    """

    def __init__(self, base: str | torch.nn.Module, lora: Lora, ranks: Ranks):
        assert ranks.device
        self.ranks, self.device, self.lora = ranks, ranks.device, lora
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        model: Any = (
            AutoModelForCausalLM.from_pretrained(base, dtype=dtype) if isinstance(base, str) else base.to(dtype)
        )
        model.set_attn_implementation(NAME)
        self.base_name = base if isinstance(base, str) else None
        self.base = model.to(self.device).requires_grad_(False)
        self.dtype = dtype
        self.tokenise = template_of(lambda: AutoTokenizer.from_pretrained(base))
        config = model.config
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = (config.num_attention_heads, config.num_key_value_heads, size)
        self.kernel = choose_kernel(self.device, dtype, heads)
        self._assert_plain_head()
        self.model: PeftModel | None = None

    # Checkpoints

    def start(self, folder: Path | None, config: Config, uri: str | None = None) -> None:
        if self.model is not None:
            self.base = self.model.unload()  # pyright: ignore[reportCallIssue]
        torch.manual_seed(self.lora.seed)
        has_files = folder is not None and (folder / ADAPTER).exists()
        if uri and not has_files:
            raise ValueError(f"the files of the parent are not in Skein, but at {uri}, which engine local cannot read")
        peft_config = LoraConfig.from_pretrained(str(folder)) if has_files else self._new_config()
        peft_config.inference_mode = False
        self.model = get_peft_model(self.base, peft_config, autocast_adapter_dtype=False)  # pyright: ignore[reportArgumentType]
        self.model.train()
        if config.gradient_checkpointing:
            self.base.gradient_checkpointing_enable({"use_reentrant": False})
        else:
            self.base.gradient_checkpointing_disable()
        self.params = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        if has_files:
            assert folder
            stored = load_file(folder / ADAPTER, device=str(self.device))
            wanted = {name.replace(".default", "") for name in self.params}
            if set(stored) != wanted:
                raise ValueError(
                    f"{ADAPTER} has other tensors than the base model takes: {sorted(set(stored) ^ wanted)[:3]}"
                )
            self.masters = {name: stored[name.replace(".default", "")].float() for name in self.params}
        else:
            self.masters = {name: p.detach().float().clone() for name, p in self.params.items()}
        self._publish()
        self.optimizer = torch.optim.AdamW(
            [{"params": list(self.masters.values())}],
            lr=0.0,  # each step sets its own rate
            betas=(0.9, 0.99),
            weight_decay=config.weight_decay,
        )
        if has_files and folder is not None and (folder / OPTIMIZER).exists():
            self._load_optimizer(load_file(folder / OPTIMIZER, device=str(self.device)))

    def _new_config(self) -> LoraConfig:
        return LoraConfig(
            r=self.lora.rank,
            lora_alpha=self.lora.alpha,
            target_modules=self.lora.targets,
            task_type="CAUSAL_LM",
            base_model_name_or_path=self.base_name,
        )

    def _publish(self) -> None:
        """Copies the optimizer's weights into the model."""
        with torch.no_grad():
            for name, p in self.params.items():
                p.copy_(self.masters[name])

    def _load_optimizer(self, stored: dict[str, Tensor]) -> None:
        for name, master in self.masters.items():
            key = name.replace(".default", "")
            if f"{key}.exp_avg" in stored:
                state = {part: stored[f"{key}.{part}"].clone() for part in ("exp_avg", "exp_avg_sq")}
                self.optimizer.state[master] = {**state, "step": stored[f"{key}.step"].reshape(()).cpu().clone()}

    def save(self, folder: Path, is_state: bool = False) -> Json:
        """Writes the adapter in the format of PEFT, and the state of the optimizer."""
        assert self.model
        folder.mkdir(parents=True, exist_ok=True)
        about = cast(LoraConfig, self.model.peft_config["default"])
        # a set has no order, but equal checkpoints must have equal bytes
        about.target_modules = sorted(about.target_modules or ())
        about.save_pretrained(str(folder))
        named = {name.replace(".default", ""): master for name, master in self.masters.items()}
        save_file({name: master.contiguous().cpu() for name, master in named.items()}, folder / ADAPTER)
        moments: dict[str, Tensor] = {}
        for name, master in named.items():
            for part, value in self.optimizer.state.get(master, {}).items():
                moments[f"{name}.{part}"] = (
                    torch.as_tensor(value).detach().cpu().reshape(-1) if part == "step" else value.cpu()
                )
        if moments:
            save_file(moments, folder / OPTIMIZER)
        return {
            "format": "peft",
            "engine": "local",
            "base": self.base_name,
            "dtype": str(self.dtype).removeprefix("torch."),
        }

    # Log-probabilities

    def _assert_plain_head(self) -> None:
        """
        Checks that nothing follows the head of the model. Log-probabilities are computed from the head, for trained
        tokens only.
        """
        ids = torch.arange(4, device=self.device).unsqueeze(0) % self.base.config.vocab_size
        BOUNDS.set([4], self.device)
        with torch.no_grad():
            whole = self.base(input_ids=ids, use_cache=False).logits
            parts = self.base.get_output_embeddings()(
                body_of(self.base)(input_ids=ids, use_cache=False).last_hidden_state
            )
        if not torch.allclose(whole.float(), parts.float(), rtol=1e-2, atol=1e-2):
            raise ValueError("the base model changes its logits behind its head, which engine local does not know")

    def logprobs(self, examples: list[Example], config: Config) -> list[list[float]]:
        """Returns the log-probabilities of the trained tokens of each sequence, in the order of the examples."""
        found: dict[int, list[float]] = {}
        with torch.no_grad():
            for row in packs(examples, config.packed_sequence_length):
                sequences = [sequence for example in row for sequence in example]
                values = trained_logprobs(self.base, sequences).tolist()
                for sequence in sequences:
                    found[id(sequence)], values = values[: sequence.trained_tokens], values[sequence.trained_tokens :]
        return [found[id(sequence)] for example in examples for sequence in example]

    # Training

    def prepare(self, examples: list[Example], config: Config) -> None:
        if not needs_start(examples, config):
            return
        sequences = [sequence for example in examples for sequence in example]
        for sequence, values in zip(sequences, self.logprobs(examples, config), strict=True):
            sequence.start = values

    def step(self, examples: list[Example], config: Config) -> dict[str, float]:
        sequences = [sequence for example in examples for sequence in example]
        batch = Batch(sum(sequence.trained_tokens for sequence in sequences), len(sequences), len(examples))
        if config.loss_fn == "kto":
            moved = [
                sum(now) - sum(sequence.start)
                for sequence, now in zip(sequences, self.logprobs(examples, config), strict=True)
            ]
            batch.kl = max(0.0, sum(moved) / len(moved))
        grads = [torch.zeros_like(master) for master in self.masters.values()]
        sums: dict[str, Tensor] = {}
        rows = packs(examples, config.packed_sequence_length)
        for row in rows[self.ranks.rank :: self.ranks.size]:
            for name, value in self._backward(row, batch, config, grads).items():
                sums[name] = sums[name] + value if name in sums else value
        self.ranks.add(grads)
        values = torch.stack([value.float() for value in sums.values()]) if sums else torch.zeros(0, device=self.device)
        names = self.ranks.share(list(sums))
        if not sums:  # a rank that has no row
            values = torch.zeros(len(names), device=self.device)
        self.ranks.add([values])
        for master, grad in zip(self.masters.values(), grads, strict=True):
            master.grad = grad
        norm = torch.nn.utils.clip_grad_norm_(self.masters.values(), config.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate
        self.optimizer.step()
        self._publish()
        return {
            **means(dict(zip(names, values.tolist(), strict=True)), batch),
            "grad_norm": norm.item(),
            "learning_rate": config.learning_rate,
            "num_trained_tokens": batch.tokens,
            "num_tokens": sum(tokens_of(example) for example in examples),
            "num_sequences": batch.sequences,
            "reward": sum(sequence.reward for sequence in sequences) / len(sequences),
        }

    def _backward(self, row: list[Example], batch: Batch, config: Config, grads: list[Tensor]) -> dict[str, Tensor]:
        sequences = [sequence for example in row for sequence in example]
        new = trained_logprobs(self.base, sequences)
        loss, metrics = loss_of(config, new, pack_of(sequences, self.device), batch)
        loss.backward()
        for p, grad in zip(self.params.values(), grads, strict=True):
            if p.grad is not None:
                grad.add_(p.grad)
            p.grad = None
        return {"loss": loss.detach(), **metrics}


def body_of(base: Any) -> Any:
    """Returns a model without its head."""
    return getattr(base, base.base_model_prefix)


def trained_logprobs(base: Any, sequences: list[Sequence]) -> Tensor:
    """Returns the log-probabilities of the trained tokens of sequences that lie side by side."""
    device = base.device
    lengths = [len(sequence.ids) for sequence in sequences]
    ids = torch.tensor([token for sequence in sequences for token in sequence.ids], device=device)
    positions = torch.cat([torch.arange(length) for length in lengths]).to(device)
    mask = torch.tensor(
        [is_trained and at > 0 for sequence in sequences for at, is_trained in enumerate(sequence.mask)],
        device=device,
    )
    BOUNDS.set(lengths, device)
    hidden = body_of(base)(
        input_ids=ids.unsqueeze(0), position_ids=positions.unsqueeze(0), use_cache=False
    ).last_hidden_state[0]
    targets = mask.nonzero()[:, 0]
    before = hidden[targets - 1]  # the state of a token predicts the next token
    head = base.get_output_embeddings()

    def logprobs(states: Tensor, tokens: Tensor) -> Tensor:
        return torch.log_softmax(head(states).float(), dim=-1).gather(1, tokens[:, None])[:, 0]

    chunks = zip(before.split(LOGITS_AT_ONCE), ids[targets].split(LOGITS_AT_ONCE), strict=True)
    return torch.cat([checkpoint(logprobs, *chunk, use_reentrant=False) for chunk in chunks])  # pyright: ignore[reportArgumentType]


def device_of(name: str | None) -> torch.device:
    if name:
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")
