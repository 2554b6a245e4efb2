"""
Measures tokens per second of engine local and of a plain PEFT loop, with the same model, LoRA, sequences, loss (PPO's
clip) and optimizer. Both run in one process, in turns. The model has random weights, so no network is needed.

    python trainer/bench.py --size 0.5b --sequences 64 --prompt 256 --completion 512
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from skein_trainer.data import Config, Reader, Sequence
from skein_trainer.engine import Lora
from skein_trainer.local import LocalEngine, device_of
from skein_trainer.ranks import Ranks

SIZES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "heads": (4, 2), "vocab_size": 512},
    "0.1b": {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 12,
        "heads": (9, 3),
        "vocab_size": 49152,
    },
    "0.5b": {
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "heads": (14, 2),
        "vocab_size": 151936,
    },
    "1.5b": {
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "heads": (12, 2),
        "vocab_size": 151936,
    },
    "8b": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "heads": (32, 8),
        "vocab_size": 128256,
    },
}
ENGINE = "engine local"
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def a_model(size: str, device: torch.device, dtype: torch.dtype) -> LlamaForCausalLM:
    shape: dict[str, Any] = dict(SIZES[size])
    heads, key_heads = shape.pop("heads")
    config = LlamaConfig(
        **shape,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    with torch.device(device):
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(before)
    return model


def a_payload(given: argparse.Namespace, vocabulary: int) -> list[dict[str, Any]]:
    """Makes groups as Skein sends them. The lengths of answers vary from a tenth to about twice the mean."""
    draw = random.Random(0)
    groups: list[dict[str, Any]] = []
    for _ in range(given.sequences // given.group):
        prompt = [draw.randrange(vocabulary) for _ in range(max(2, int(given.prompt * draw.uniform(0.5, 1.5))))]
        trajectories: list[dict[str, Any]] = []
        for _ in range(given.group):
            length = max(2, int(given.completion * draw.triangular(0.1, 2.5, 0.4)))
            ids = [draw.randrange(vocabulary) for _ in range(length)]
            choice = {
                "finish_reason": "stop",
                "index": 0,
                "message": {"role": "assistant", "content": "…"},
                "prompt_token_ids": prompt,
                "token_ids": ids,
                "logprobs": {
                    "content": [{"token": f"token_id:{token}", "logprob": -draw.uniform(5, 15)} for token in ids]
                },
            }
            turns = [{"role": "user", "content": "…"}, choice]
            trajectories.append({"messages_and_choices": turns, "reward": draw.random()})
        groups.append({"trajectories": trajectories})
    return groups


class PlainLoop:
    """A simple training loop: padded batches, all logits, PEFT's adapter, AdamW."""

    def __init__(self, model: LlamaForCausalLM, config: Config, batch: int, device: torch.device):
        lora = LoraConfig(r=8, lora_alpha=16, target_modules=TARGETS, task_type="CAUSAL_LM")
        self.model: Any = get_peft_model(model, lora)
        self.model.train()
        if config.gradient_checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        self.params = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.params, lr=config.learning_rate, betas=(0.9, 0.99), weight_decay=0.0)
        self.config, self.batch, self.device = config, batch, device

    def step(self, sequences: list[Sequence]) -> None:
        total = sum(sequence.trained_tokens for sequence in sequences)
        for at in range(0, len(sequences), self.batch):
            rows = sequences[at : at + self.batch]
            longest = max(len(row.ids) for row in rows)
            ids, attention, mask = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(3))
            old, advantage = torch.zeros(len(rows), longest), torch.tensor([row.advantage for row in rows])
            for i, row in enumerate(rows):
                size = len(row.ids)
                ids[i, :size] = torch.tensor(row.ids)
                attention[i, :size] = 1
                mask[i, :size] = torch.tensor(row.mask, dtype=torch.long)
                old[i, :size] = torch.tensor(row.logprobs).nan_to_num()
            ids, attention, mask, old, advantage = (
                each.to(self.device) for each in (ids, attention, mask, old, advantage)
            )
            logits = self.model(input_ids=ids, attention_mask=attention, use_cache=False).logits[:, :-1]
            new = torch.log_softmax(logits.float(), dim=-1).gather(2, ids[:, 1:, None])[..., 0]
            ratio = (new - old[:, 1:]).exp()
            gain = torch.minimum(ratio * advantage[:, None], ratio.clamp(0.8, 1.2) * advantage[:, None])
            (-(gain * mask[:, 1:]).sum() / total).backward()
        torch.nn.utils.clip_grad_norm_(self.params, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def measure(
    runs: dict[str, Callable[[], Any]], rounds: int, is_on_gpu: bool
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """
    Measures the seconds of each run, in turns, and the largest memory in GiB. A run that needs too much memory is
    left out.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    memory: dict[str, float] = {}
    for round_ in range(rounds + 1):
        for name, run in list(runs.items()):
            if is_on_gpu:
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            try:
                run()
            except torch.cuda.OutOfMemoryError:
                del runs[name], times[name]
                torch.cuda.empty_cache()
                print(f"{name}: out of memory")
                continue
            if is_on_gpu:
                torch.cuda.synchronize()
                memory[name] = torch.cuda.max_memory_allocated() / 2**30
            if round_ > 0:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return times, memory


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--size", choices=SIZES, default="0.5b")
    add("--sequences", type=int, default=64, help="of a gradient step")
    add("--group", type=int, default=8)
    add("--prompt", type=int, default=256, help="tokens, on average")
    add("--completion", type=int, default=512, help="tokens, on average")
    add("--packed", type=int, default=8192, help="packed_sequence_length of the engine")
    add("--batch", type=int, nargs="+", default=[4, 8, 16], help="rows of the plain loop at once: the best one counts")
    add("--rounds", type=int, default=5)
    add("--no-checkpointing", action="store_true", help="no gradient checkpointing in either")
    add("--device")
    add("--threads", type=int, help="of torch on a CPU")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.threads:
        torch.set_num_threads(given.threads)
    device = device_of(given.device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    is_on_gpu = device.type == "cuda"
    config = Config(
        loss_fn="ppo",
        learning_rate=1e-5,
        packed_sequence_length=given.packed,
        gradient_checkpointing=not given.no_checkpointing,
    )
    vocabulary = SIZES[given.size]["vocab_size"]
    assert isinstance(vocabulary, int)
    reader = Reader(config, lambda messages, tools, is_prompt: [])
    for group in a_payload(given, vocabulary):
        reader.add(group)
    sequences = [sequence for example in reader.examples for sequence in example]
    tokens = sum(len(sequence.ids) for sequence in sequences)

    engine = LocalEngine(a_model(given.size, device, dtype), Lora(8, 16, TARGETS), Ranks(device))
    engine.start(None, config)
    engine.prepare(reader.examples, config)
    runs: dict[str, Callable[[], Any]] = {ENGINE: lambda: engine.step(reader.examples, config)}
    for batch in given.batch:
        plain = PlainLoop(a_model(given.size, device, dtype), config, batch, device)
        runs[f"plain, batch {batch}"] = lambda plain=plain: plain.step(sequences)

    times, memory = measure(runs, given.rounds, is_on_gpu)
    speed = {name: tokens / statistics.median(seen) for name, seen in times.items()}
    best = max((name for name in speed if name != ENGINE), key=lambda name: speed[name])
    trained = sum(sequence.trained_tokens for sequence in sequences)
    name_of_device = torch.cuda.get_device_name(device) if is_on_gpu else "cpu"
    print(f"device    {name_of_device}, {str(dtype).removeprefix('torch.')}, torch {torch.__version__}")
    print(f"model     {given.size}, {engine.base.num_parameters():,} parameters; attention: {engine.kernel}")
    print(f"batch     {len(sequences)} sequences, {tokens:,} tokens, {trained:,} of them trained")
    for name in sorted(speed, key=lambda name: -speed[name]):
        used = f", {memory[name]:.1f} GiB at most" if name in memory else ""
        spread = f"{min(times[name]):.2f} to {max(times[name]):.2f} s a step"
        print(f"{name:16} {speed[name]:12,.0f} tokens/s, {spread}{used}")
    ratio = speed[ENGINE] / speed[best]
    print(f"ratio     {ratio:.2f} (engine local to {best})")
    print(json.dumps({"tokens_per_s": speed, "ratio": ratio, "kernel": engine.kernel}))


if __name__ == "__main__":
    main()
