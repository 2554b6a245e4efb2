"""The losses, computed from the log-probabilities of the trained tokens of a pack."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from skein_trainer.data import Config, Example, Sequence

#: Largest distances below and above 1: PPO's clip, and the bounds of CISPO's weights (arXiv 2506.13585). CISPO has no
#: lower bound.
CLIPS = {"ppo": (0.2, 0.2), "grpo": (0.2, 0.2), "cispo": (1.0, 4.0)}


@dataclass
class Batch:
    """Counts that all packs of a gradient step share. A loss is a sum over packs."""

    tokens: int
    sequences: int
    examples: int
    #: For KTO: the mean distance that the policy has moved.
    kl: float = 0.0


@dataclass
class Pack:
    """The trained tokens of a pack, one after the other."""

    #: Index of the sequence of each token.
    owner: Tensor
    #: Log-probabilities of the sampler, NaN when it recorded none; `start` has those of the trainer at the start of
    #: the job.
    sampled: Tensor
    start: Tensor
    #: Values of each sequence.
    advantages: Tensor
    rewards: Tensor


Metrics = dict[str, Tensor]


def pack_of(sequences: list[Sequence], device: torch.device) -> Pack:
    def tensor(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=device)

    counts = torch.tensor([sequence.trained_tokens for sequence in sequences], device=device)
    sampled = tensor([value for sequence in sequences for value in sequence.sampled])
    start = [value for sequence in sequences for value in sequence.start]
    return Pack(
        owner=torch.arange(len(sequences), device=device).repeat_interleave(counts),
        sampled=sampled,
        start=tensor(start) if start else sampled,
        advantages=tensor([sequence.advantage for sequence in sequences]),
        rewards=tensor([sequence.reward for sequence in sequences]),
    )


def needs_start(examples: list[Example], config: Config) -> bool:
    """Returns true when the loss needs log-probabilities of the policy at the start of the job."""
    if config.loss_fn in ("dpo", "kto"):
        return True
    if config.loss_fn == "sft":
        return False
    sampled = (value for example in examples for sequence in example for value in sequence.sampled)
    return bool(config.truncated_importance_sampling) or any(math.isnan(value) for value in sampled)


def clip_bounds(config: Config) -> tuple[float, float]:
    """Returns the largest distances of a ratio below and above 1."""
    low, high = CLIPS[config.loss_fn]
    low = low if config.epsilon is None else config.epsilon
    high = (high if config.epsilon is None else low) if config.epsilon_high is None else config.epsilon_high
    return low, high


def loss_of(config: Config, new: Tensor, pack: Pack, batch: Batch) -> tuple[Tensor, Metrics]:
    """Returns the share of the pack in the loss of the batch, and sums for its metrics."""
    if config.loss_fn == "sft":
        return -new.sum() / batch.tokens, {}
    if config.loss_fn in ("dpo", "kto"):
        return preference(config, new, pack, batch)
    return policy_gradient(config, new, pack, batch)


def policy_gradient(config: Config, new: Tensor, pack: Pack, batch: Batch) -> tuple[Tensor, Metrics]:
    cap = config.truncated_importance_sampling
    known = ~pack.sampled.isnan()
    old = pack.start if cap else torch.where(known, pack.sampled, pack.start)
    ratio = (new - old).exp()
    low, high = clip_bounds(config)
    clipped = ratio.clamp(1 - low, 1 + high)
    advantage = pack.advantages[pack.owner]
    gain = (
        clipped.detach() * advantage * new
        if config.loss_fn == "cispo"
        else torch.minimum(ratio * advantage, clipped * advantage)
    )
    metrics = {
        "ratio": ratio.detach().sum(),
        "clipped": (ratio != clipped).sum(),
        "kl": (old - new).detach().sum(),
        "off_policy": (ratio != 1).sum(),
    }
    if cap:  # trainer and sampler have different kernels: arXiv 2508.09874 (truncated importance sampling)
        weight = torch.where(known, (pack.start - pack.sampled).exp(), torch.ones_like(new)).clamp(max=cap)
        metrics["sampler_weight"] = weight.sum()
        gain = gain * weight
    if config.loss_fn == "grpo":  # the mean over sequences of the means over their tokens
        lengths = torch.bincount(pack.owner, minlength=len(pack.advantages)).clamp(min=1)
        return -(gain / lengths[pack.owner]).sum() / batch.sequences, metrics
    return -gain.sum() / batch.tokens, metrics


def preference(config: Config, new: Tensor, pack: Pack, batch: Batch) -> tuple[Tensor, Metrics]:
    """DPO (arXiv 2305.18290) and KTO (arXiv 2402.01306), with the policy at the start of the job as the reference."""
    moved = torch.zeros(len(pack.rewards), dtype=new.dtype, device=new.device).index_add(
        0, pack.owner, new - pack.start
    )
    if config.loss_fn == "dpo":
        margin = config.beta * (moved[0::2] - moved[1::2])
        return -F.logsigmoid(margin).sum() / batch.examples, {
            "margin": margin.detach().sum(),
            "accuracy": (margin > 0).sum(),
        }
    side = torch.where(pack.rewards > config.threshold, 1.0, -1.0)
    return (1 - torch.sigmoid(config.beta * side * (moved - batch.kl))).sum() / batch.examples, {
        "moved": moved.detach().sum()
    }


#: Divides sums by their counts.
def means(sums: dict[str, float], batch: Batch) -> dict[str, float]:
    counts = {"loss": 1, "margin": batch.examples, "accuracy": batch.examples, "moved": batch.sequences}
    return {name: value / counts.get(name, batch.tokens) for name, value in sums.items()}
