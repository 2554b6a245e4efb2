"""Tests engine local against PEFT and against the formulas of the papers."""

import json
import math
from pathlib import Path

import pytest
import torch
from peft import PeftModel, get_peft_model
from tiny import a_model

from skein_trainer.data import Config, Example, Sequence, packs
from skein_trainer.engine import Lora
from skein_trainer.local import LocalEngine
from skein_trainer.ranks import Ranks

torch.set_num_threads(1)
CPU = torch.device("cpu")


def an_engine() -> LocalEngine:
    return LocalEngine(a_model(), Lora(rank=4, alpha=8), Ranks(CPU))


def sequence(length: int, trained: int, seed: int, advantage: float = 1.0, reward: float = 0.0) -> Sequence:
    generator = torch.Generator().manual_seed(seed)
    made = Sequence(advantage=advantage, reward=reward)
    ids: list[int] = torch.randint(0, 40, (length,), generator=generator).tolist()
    made.extend(ids[: length - trained], None)
    made.extend(ids[length - trained :], [math.nan] * trained)
    return made


def examples() -> list[Example]:
    return [[sequence(5 + 3 * i, 2 + i, i, advantage=(-1.0) ** i * (i + 1), reward=float(i % 2))] for i in range(6)]


def record(engine: LocalEngine, given: list[Example], config: Config, shift: float = 0.0) -> None:
    """Sets the sampler's log-probabilities to those of the policy, slightly shifted."""
    values = engine.logprobs(given, config)
    for i, (one, found) in enumerate(zip([each for example in given for each in example], values, strict=True)):
        shifted = iter([value + shift * (-1) ** i for value in found])
        one.logprobs = [next(shifted) if is_trained else math.nan for is_trained in one.mask]


def moved(engine: LocalEngine, config: Config) -> None:
    """Starts with an adapter that changes the model: a new one is zero."""
    engine.start(None, config)
    generator = torch.Generator().manual_seed(7)
    for master in engine.masters.values():
        master.add_(0.05 * torch.randn(master.shape, generator=generator))
    engine._publish()


def plain_logprobs(model: torch.nn.Module, one: Sequence) -> torch.Tensor:
    """Computes log-probabilities in the simplest way: each sequence alone, with all logits."""
    ids = torch.tensor([one.ids])
    logits = model(input_ids=ids, use_cache=False).logits[0, :-1]
    all_of = torch.log_softmax(logits, dim=-1).gather(1, ids[0, 1:, None])[:, 0]
    return all_of[torch.tensor(one.mask[1:])]


def reference(engine: LocalEngine) -> torch.nn.Module:
    """Returns a model with the attention of transformers and the same adapter."""
    assert engine.model
    model = get_peft_model(a_model(), engine.model.peft_config["default"])
    wanted = dict(engine.masters)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name in wanted:
                p.copy_(wanted[name])
    return model.train()


@pytest.mark.parametrize("length", [1, 24, 10_000])
def test_packs_give_the_logprobs_of_each_sequence_alone(length: int):
    engine, config, given = an_engine(), Config(packed_sequence_length=length), examples()
    moved(engine, config)
    model = reference(engine)
    for example, found in zip(given, engine.logprobs(given, config), strict=True):
        assert torch.tensor(found) == pytest.approx(plain_logprobs(model, example[0]).detach(), abs=1e-5)


def test_packs_hold_every_example_once_and_up_to_their_length():
    rows = packs(given := examples(), 30)
    assert sorted(id(example) for row in rows for example in row) == sorted(id(example) for example in given)
    assert all(sum(len(one.ids) for example in row for one in example) <= 30 for row in rows)
    assert len(rows) < len(given)


def expected_loss(config: Config, new: list[torch.Tensor], given: list[Example]) -> torch.Tensor:
    """Computes the formulas of the papers, one sequence at a time."""
    sequences = [one for example in given for one in example]
    total = sum(one.trained_tokens for one in sequences)
    losses: list[torch.Tensor] = []
    for values, one in zip(new, sequences, strict=True):
        old = torch.tensor([value for value, is_trained in zip(one.logprobs, one.mask, strict=True) if is_trained])
        ratio, a = (values - old).exp(), one.advantage
        match config.loss_fn:
            case "sft":
                losses.append(-values.sum() / total)
            case "cispo":
                losses.append(-(ratio.detach().clamp(0, 5) * a * values).sum() / total)
            case "ppo":
                losses.append(-torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).sum() / total)
            case "grpo":
                losses.append(-torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean() / len(sequences))
            case _:
                start = torch.tensor(one.start)
                losses.append((values - start).sum())
    if config.loss_fn == "dpo":
        pairs = zip(losses[0::2], losses[1::2], strict=True)
        return torch.stack([-torch.nn.functional.logsigmoid(0.1 * (a - b)) for a, b in pairs]).mean()
    if config.loss_fn == "kto":
        kl = max(0.0, torch.stack(losses).mean().item())
        signs = [1 if one.reward > 0 else -1 for one in sequences]
        return torch.stack(
            [1 - torch.sigmoid(0.1 * sign * (x - kl)) for sign, x in zip(signs, losses, strict=True)]
        ).mean()
    return torch.stack(losses).sum()


@pytest.mark.parametrize("loss", ["cispo", "ppo", "grpo", "sft", "dpo", "kto"])
def test_a_step_has_the_gradient_of_the_formula(loss: str):
    engine = an_engine()
    config = Config.of({"loss_fn": loss, "learning_rate": 0.01, "packed_sequence_length": 40, "max_grad_norm": 1e9})
    given = examples()
    if loss == "dpo":
        given = [[a[0], b[0]] for a, b in zip(given[0::2], given[1::2], strict=True)]
    moved(engine, config)
    record(engine, given, config, shift=0.3)  # some ratios are clipped
    engine.prepare(given, config)
    if loss in ("dpo", "kto"):  # the reference is the policy at the start: begin elsewhere
        for one in (one for example in given for one in example):
            one.start = [value - 0.1 for value in one.start]
    model = reference(engine)
    new = [plain_logprobs(model, one) for example in given for one in example]
    wanted = expected_loss(config, new, given)
    wanted.backward()
    metrics = engine.step(given, config)
    assert metrics["loss"] == pytest.approx(wanted.item(), abs=1e-5)
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    for name, master in engine.masters.items():
        assert master.grad is not None
        assert torch.allclose(master.grad, grads[name], rtol=1e-3, atol=1e-6)
    assert metrics["grad_norm"] > 0


def test_the_sampler_is_corrected_up_to_a_limit():
    engine, given = an_engine(), examples()
    config = Config(loss_fn="ppo", truncated_importance_sampling=1.1)
    moved(engine, config)
    record(engine, given, config, shift=0.3)
    engine.prepare(given, config)
    metrics = engine.step(given, config)
    assert metrics["ratio"] == 1.0
    tokens = [one[0].trained_tokens for one in given]
    weights = [math.exp(0.3) if i % 2 else math.exp(-0.3) for i in range(len(given))]
    wanted = sum(n * min(weight, 1.1) for n, weight in zip(tokens, weights, strict=True)) / sum(tokens)
    assert metrics["sampler_weight"] == pytest.approx(wanted, abs=1e-5)


def test_a_checkpoint_goes_on_as_if_nothing_was_stopped(tmp_path: Path):
    config, given = Config(learning_rate=0.01), examples()
    engine = an_engine()
    moved(engine, config)
    record(engine, given, config)
    first = engine.step(given, config)
    assert (first["ratio"], first["off_policy"]) == (1.0, 0.0)
    about = engine.save(tmp_path)
    assert about["format"] == "peft"
    engine.step(given, config)
    other = an_engine()
    other.start(tmp_path, config)
    other.step(given, config)
    for name, master in engine.masters.items():
        assert torch.equal(master, other.masters[name])


def test_peft_reads_the_checkpoint(tmp_path: Path):
    config, given = Config(), examples()
    engine = an_engine()
    moved(engine, config)
    engine.save(tmp_path)
    assert json.loads((tmp_path / "adapter_config.json").read_text())["r"] == 4
    model = PeftModel.from_pretrained(a_model(), str(tmp_path))
    found = engine.logprobs(given, config)
    with torch.no_grad():
        for values, example in zip(found, given, strict=True):
            assert torch.tensor(values) == pytest.approx(plain_logprobs(model, example[0]), abs=1e-5)


def test_an_adapter_of_another_model_is_refused(tmp_path: Path):
    engine = an_engine()
    moved(engine, Config())
    engine.save(tmp_path)
    other = LocalEngine(a_model(num_hidden_layers=1), Lora(), Ranks(CPU))
    with pytest.raises(ValueError, match="other tensors"):
        other.start(tmp_path, Config())
