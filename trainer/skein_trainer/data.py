"""Converts trajectory groups and conversations into sequences of tokens, and these into the inputs of a loss."""

import json
import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal

from skein_trainer.client import Json

LossName = Literal["cispo", "ppo", "grpo", "sft", "dpo", "kto"]
LOSSES = ("cispo", "ppo", "grpo", "sft", "dpo", "kto")
TOKEN_ID = "token_id:"

#: Converts messages and tools to token ids. The flag is true when the ids end where the model begins its answer.
Tokenise = Callable[[list[Json], list[Json] | None, bool], list[int]]


@dataclass
class Config:
    """The known settings of a job's training. Other members are ignored."""

    loss_fn: LossName = "cispo"
    learning_rate: float = 5e-6
    #: One rate for each gradient step, instead of `learning_rate`. Jobs send both as `learning_rate`.
    learning_rates: list[float] = field(default_factory=list)
    #: Sequences of a gradient step; all when absent.
    batch_size: int | None = None
    num_epochs: int = 1
    #: Largest distance of the ratio below and above 1. Default 0.2 for both; 1 and 4 for CISPO.
    epsilon: float | None = None
    epsilon_high: float | None = None
    #: Largest ratio of the trainer's first probabilities to the sampler's that counts; no limit when absent.
    truncated_importance_sampling: float | None = None
    #: Divide advantages by the standard deviation of the group.
    scale_rewards: bool = True
    #: The beta of DPO and KTO.
    beta: float = 0.1
    #: For KTO: rewards above this value are desirable.
    threshold: float = 0.0
    packed_sequence_length: int = 8192
    max_grad_norm: float = 1.0
    weight_decay: float = 0.0
    gradient_checkpointing: bool = True
    seed: int = 0
    #: Shuffle the examples of each epoch when it has several batches.
    shuffle: bool = True
    #: Messages of the assistant that are trained in a conversation.
    assistant_turns: Literal["all", "last"] = "all"

    def __post_init__(self) -> None:
        if self.loss_fn not in LOSSES:
            raise ValueError(f"loss_fn: must be one of {', '.join(LOSSES)}")
        if self.assistant_turns not in ("all", "last"):
            raise ValueError("assistant_turns: must be all or last")
        if not all(isinstance(rate, int | float) and math.isfinite(rate) and rate >= 0 for rate in self.learning_rates):
            raise ValueError("learning_rate: must hold numbers from 0")
        for name in ("learning_rate", "batch_size", "num_epochs", "packed_sequence_length"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
                raise ValueError(f"{name}: must be a number above 0")

    def at(self, step: int) -> "Config":
        """Returns the config with the learning rate of a gradient step, counted from 0."""
        if not self.learning_rates:
            return self
        if step >= len(self.learning_rates):
            raise ValueError(
                f"learning_rate: has {len(self.learning_rates)} rates, fewer than there are gradient steps"
            )
        one = copy(self)  # without validation: a schedule may end with 0
        one.learning_rate, one.learning_rates = self.learning_rates[step], []
        return one

    @staticmethod
    def of(given: Json | None) -> "Config":
        known = Config.__dataclass_fields__
        taken = {name: value for name, value in (given or {}).items() if name in known and value is not None}
        if isinstance(taken.get("learning_rate"), list):
            taken["learning_rates"] = taken.pop("learning_rate")
        return Config(**taken)

    @staticmethod
    def of_job(claim: Json) -> "Config":
        """Reads the settings of a job. For a job on conversations, `config` overrides `experimental_config`."""
        given = claim["experimental_config"] or {}
        if claim.get("kind") != "sft":
            return Config.of(given)
        asked = {name: value for name, value in (claim.get("config") or {}).items() if value not in (None, "auto")}
        return Config.of({**SFT, **given, **asked, "loss_fn": "sft"})


#: Defaults of jobs on conversations. Rates and batches are those of clients that leave them to the server.
SFT: Json = {"learning_rate": 5e-5, "batch_size": 2, "shuffle": False}


@dataclass
class Sequence:
    """The tokens of one history: tokens of prompts and tools, and sampled tokens, which are trained."""

    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    #: Log-probabilities of the sampler for the trained tokens; NaN when it recorded none.
    logprobs: list[float] = field(default_factory=list)
    #: Log-probabilities of the trainer for the trained tokens at the start of the job; empty when no loss needs them.
    start: list[float] = field(default_factory=list)
    reward: float = 0.0
    advantage: float = 0.0

    def extend(self, ids: list[int], logprobs: list[float] | None) -> None:
        """Appends tokens. Tokens with log-probabilities are trained."""
        self.ids += ids
        self.mask += [logprobs is not None] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [math.nan] * len(ids)

    @property
    def trained_tokens(self) -> int:
        return sum(self.mask[1:])

    @property
    def sampled(self) -> list[float]:
        """
        Returns the sampler's log-probabilities of the trained tokens. The first token is left out: no token precedes
        it.
        """
        pairs = zip(self.logprobs[1:], self.mask[1:], strict=True)
        return [value for value, is_trained in pairs if is_trained]


#: Sequences that a loss uses together: a chosen and a rejected one, all sequences of a conversation, or a single one.
Example = list[Sequence]


class Reader:
    """Reads groups, and counts choices and groups that cannot be used."""

    def __init__(self, config: Config, tokenise: Tokenise):
        self.config, self.tokenise = config, tokenise
        self.examples: list[Example] = []
        self.rewards: list[float] = []
        self.retokenised = 0
        self.unreadable = 0
        self.without_signal = 0

    def add(self, group: Json) -> None:
        scored = [
            (reward, trajectory)
            for trajectory in group.get("trajectories", [])
            if (reward := trajectory.get("reward", 0.0)) is not None
        ]
        self.rewards += [float(reward) for reward, _ in scored]
        advantages = self._advantages([float(reward) for reward, _ in scored])
        groups: list[list[Sequence]] = []
        for (reward, trajectory), advantage in zip(scored, advantages, strict=True):
            sequences = [sequence for sequence in self._sequences(trajectory) if sequence.trained_tokens > 0]
            for sequence in sequences:
                sequence.reward, sequence.advantage = float(reward), advantage
            groups.append(sequences)
        if self.config.loss_fn == "dpo":
            self._add_pair(groups)
        elif self.config.loss_fn in ("sft", "kto") or any(advantages):
            self.examples += [[sequence] for sequences in groups for sequence in sequences]
        else:
            self.without_signal += 1

    def _advantages(self, rewards: list[float]) -> list[float]:
        """Returns rewards relative to the mean of their group, which is the baseline (GRPO, arXiv 2402.03300)."""
        if len(rewards) < 2 or max(rewards) == min(rewards):
            return [0.0] * len(rewards)
        mean = statistics.fmean(rewards)
        scale = statistics.pstdev(rewards) + 1e-6 if self.config.scale_rewards else 1.0
        return [(reward - mean) / scale for reward in rewards]

    def _add_pair(self, groups: list[list[Sequence]]) -> None:
        """Adds the pair of the best and the worst trajectory. Each is represented by its last sequence."""
        last = sorted((sequences[-1] for sequences in groups if sequences), key=lambda sequence: sequence.reward)
        if len(last) > 1 and last[-1].reward > last[0].reward:
            self.examples.append([last[-1], last[0]])
        else:
            self.without_signal += 1

    def _sequences(self, trajectory: Json) -> list[Sequence]:
        sequences: list[Sequence] = []
        for turns, tools in histories(trajectory):
            current = Sequence()
            messages: list[Json] = []
            for turn in turns:
                if "message" not in turn:
                    messages.append(turn)
                    continue
                tokens = self._tokens(turn, messages, tools)
                messages.append(turn["message"])
                if tokens is None:
                    self.unreadable += 1
                    continue
                prompt, completion, logprobs = tokens
                if prompt[: len(current.ids)] != current.ids:  # the engine received other tokens: begin a new sequence
                    sequences.append(current)
                    current = Sequence()
                current.extend(prompt[len(current.ids) :], None)
                current.extend(completion, logprobs)
            sequences.append(current)
        return sequences

    def _tokens(
        self, choice: Json, messages: list[Json], tools: list[Json] | None
    ) -> tuple[list[int], list[int], list[float]] | None:
        """
        Returns the prompt, the sampled tokens, and their log-probabilities. None when the chat template cannot
        separate them.
        """
        content = (choice.get("logprobs") or {}).get("content") or []
        logprobs = [math.nan if token.get("logprob") is None else float(token["logprob"]) for token in content]
        prompt, completion = choice.get("prompt_token_ids"), choice.get("token_ids")
        if completion is None and content and all(str(token.get("token")).startswith(TOKEN_ID) for token in content):
            completion = [int(token["token"].removeprefix(TOKEN_ID)) for token in content]
        if prompt is None or completion is None:
            self.retokenised += 1
            if prompt is None:
                prompt = self.tokenise(messages, tools, True) if messages else []
        if completion is None:
            whole = self.tokenise([*messages, choice["message"]], tools, False)
            if whole[: len(prompt)] != prompt:
                return None
            completion = whole[len(prompt) :]
        if len(logprobs) != len(completion):
            logprobs = [math.nan] * len(completion)
        return prompt, completion, logprobs

    def notes(self) -> Iterator[tuple[str, str]]:
        """Yields pairs of a level and a text."""
        if self.retokenised:
            yield (
                "warning",
                f"{self.retokenised} choices without token ids were tokenised anew, perhaps not as they were sampled",
            )
        if self.unreadable:
            yield (
                "warning",
                f"{self.unreadable} choices were left out: the chat template does not show where they begin",
            )
        if self.without_signal:
            yield "info", f"{self.without_signal} groups were left out: their rewards do not differ"

    def reason(self) -> str:
        """Returns the reason why nothing can be trained."""
        if not self.rewards:
            return "the job has no trajectories with a reward"
        if self.without_signal:
            return "the rewards do not differ in any group"
        return "no trajectory has a token to train"

    def metrics(self) -> dict[str, float]:
        return {"train/reward": statistics.fmean(self.rewards)} if self.rewards else {}


class RowReader(Reader):
    """Reads conversations: `{messages, tools?}`. Messages of the assistant with `weight` 0 are not trained."""

    def add(self, group: Json) -> None:
        messages: list[Json] = group["messages"]
        trained = [i for i, one in enumerate(messages) if one["role"] == "assistant" and one.get("weight") != 0]
        chosen = set(trained if self.config.assistant_turns == "all" else trained[-1:])
        turns = [{"message": one} if i in chosen else one for i, one in enumerate(messages)]
        read = self._sequences({"messages_and_choices": turns, "tools": group.get("tools")})
        example = [sequence for sequence in read if sequence.trained_tokens > 0]
        if example:
            self.examples.append(example)
        else:
            self.without_signal += 1

    def notes(self) -> Iterator[tuple[str, str]]:
        if self.unreadable:
            yield (
                "warning",
                f"{self.unreadable} messages were left out: the chat template does not show where they begin",
            )
        if self.without_signal:
            yield "info", f"{self.without_signal} rows were left out: they have no token to train"

    def reason(self) -> str:
        return "no row has a token to train"


def histories(trajectory: Json) -> Iterator[tuple[list[Json], list[Json] | None]]:
    """
    Yields the histories of a trajectory: messages and choices in order. A captured exchange is a history of its own.
    """
    for exchange in (trajectory.get("exchanges") or {}).get("chat_completions", []):
        request, response = exchange["request"], exchange["response"]
        prompt = response.get("prompt_token_ids")
        for choice in response["choices"]:
            yield [*request["messages"], {"prompt_token_ids": prompt, **choice}], request.get("tools")
    for history in [trajectory, *trajectory.get("additional_histories", [])]:
        if turns := history.get("messages_and_choices"):
            yield turns, history.get("tools")


def packs(examples: list[Example], length: int) -> list[list[Example]]:
    """
    Packs examples side by side, up to `length` tokens. A longer example is alone. Long ones are placed first, to
    leave few gaps.
    """
    rows: list[tuple[int, list[Example]]] = []
    for example in sorted(examples, key=lambda one: -tokens_of(one)):
        size = tokens_of(example)
        at = next((i for i, (used, _) in enumerate(rows) if used + size <= length), None)
        if at is None:
            rows.append((size, [example]))
        else:
            rows[at] = (rows[at][0] + size, [*rows[at][1], example])
    return [row for _, row in rows]


def tokens_of(example: Example) -> int:
    return sum(len(sequence.ids) for sequence in example)


def template_of(load: Callable[[], Any]) -> Tokenise:
    """Returns a function that applies the chat template of a tokenizer. The tokenizer is loaded at the first use."""
    loaded: list[Any] = []

    def tokenise(messages: list[Json], tools: list[Json] | None, is_prompt: bool) -> list[int]:
        if not loaded:
            loaded.append(load())
        told = [for_template(message) for message in messages]
        return list(
            loaded[0].apply_chat_template(
                told, tools=tools, add_generation_prompt=is_prompt, tokenize=True, return_dict=False
            )
        )

    return tokenise


def for_template(message: Json) -> Json:
    """
    Converts arguments of tool calls to objects. Chat templates print them, and inference engines pass objects too.
    """
    calls = message.get("tool_calls")
    if not calls:
        return message
    told: list[Json] = []
    for call in calls:
        function = dict(call.get("function") or {})
        if isinstance(function.get("arguments"), str):
            with suppress(ValueError):  # the model may have written text that is not JSON: it stays a string
                function["arguments"] = json.loads(function["arguments"] or "{}")
        told.append({**call, "function": function})
    return {**message, "tool_calls": told}
