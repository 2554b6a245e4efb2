"""Tests the conversion of groups into sequences."""

import math

import pytest
from tiny import a_tokenizer

from skein_trainer.client import Json
from skein_trainer.data import Config, Reader, RowReader, for_template, template_of
from skein_trainer.worker import batches_of


def choice(text: str, prompt: list[int] | None, ids: list[int] | None, logprobs: list[float] | None = None) -> Json:
    content = None if logprobs is None else [{"token": "x", "logprob": value} for value in logprobs]
    return {
        "finish_reason": "stop",
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "logprobs": content and {"content": content},
        **({"prompt_token_ids": prompt} if prompt else {}),
        **({"token_ids": ids} if ids else {}),
    }


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def read(*groups: list[Json], **config: object) -> Reader:
    reader = Reader(Config.of(config), template_of(a_tokenizer))
    for trajectories in groups:
        reader.add({"trajectories": trajectories})
    return reader


def trajectory(reward: float | None, *turns: Json) -> Json:
    return {"messages_and_choices": list(turns), "reward": reward}


def test_recorded_tokens_are_taken_as_they_are_and_turns_that_continue_are_one_sequence():
    turns = [user("a"), choice("b", [1, 2], [3], [-0.1]), user("c"), choice("d", [1, 2, 3, 9], [4, 5], [-0.2, -0.3])]
    reader = read([trajectory(1, *turns), trajectory(0, user("a"), choice("b", [1, 2], [7], [-1]))])
    one, other = (example[0] for example in reader.examples)
    assert one.ids == [1, 2, 3, 9, 4, 5]
    assert one.mask == [False, False, True, False, True, True]
    assert [value for value in one.logprobs if not math.isnan(value)] == [-0.1, -0.2, -0.3]
    assert (one.advantage, other.advantage) == (pytest.approx(1, abs=1e-5), pytest.approx(-1, abs=1e-5))
    assert reader.retokenised == 0


def test_a_prompt_that_does_not_continue_begins_a_sequence():
    turns = [user("a"), choice("b", [1, 2], [3], [-0.1]), user("c"), choice("d", [1, 8], [4], [-0.2])]
    reader = read([trajectory(1, *turns), trajectory(0, user("a"), choice("b", [1], [7], [-1]))])
    assert [example[0].ids for example in reader.examples] == [[1, 2, 3], [1, 8, 4], [1, 7]]


def test_choices_without_tokens_go_through_the_template():
    tokenizer = a_tokenizer()
    reader = read(
        [trajectory(1, user("ab"), choice("cd", None, None)), trajectory(0, user("ab"), choice("e", None, None))]
    )
    one = reader.examples[0][0]
    assert tokenizer.convert_ids_to_tokens(one.ids) == ["a", "b", ":", "c", "d", "<end>"]
    assert one.mask == [False] * 3 + [True] * 3
    assert all(math.isnan(value) for value in one.logprobs)
    assert reader.retokenised == 2


def test_tokens_spelled_as_ids_and_captured_exchanges_are_read():
    spelled = choice("x", [1], None)
    spelled["logprobs"] = {"content": [{"token": "token_id:5", "logprob": -0.5}]}
    exchange = {
        "request": {"messages": [user("a")]},
        "response": {"prompt_token_ids": [1, 2], "choices": [choice("b", None, [6], [-0.25])]},
    }
    reader = read([trajectory(1, user("a"), spelled), {"exchanges": {"chat_completions": [exchange]}, "reward": 0}])
    assert [example[0].ids for example in reader.examples] == [[1, 5], [1, 2, 6]]
    assert reader.examples[1][0].logprobs[-1] == -0.25


def test_equal_rewards_have_no_signal_and_a_null_is_left_out():
    same = [trajectory(1, user("a"), choice("b", [1], [2], [-1])) for _ in range(3)]
    reader = read(same, [*same[:1], trajectory(None, user("a"), choice("c", [1], [3], [-1]))])
    assert (reader.examples, reader.without_signal) == ([], 2)
    assert len(read(same, loss_fn="sft").examples) == 3


def test_preferences_are_the_best_and_the_worst():
    group = [trajectory(reward, user("a"), choice("b", [1], [i], [-1])) for i, reward in enumerate([2, 5, 0], 10)]
    reader = read(group, group[:1], loss_fn="dpo")
    assert [[one.ids[-1] for one in example] for example in reader.examples] == [[11, 12]]
    assert reader.without_signal == 1


@pytest.mark.parametrize(
    ("config", "name"),
    [({"loss_fn": "magic"}, "loss_fn"), ({"learning_rate": 0}, "learning_rate"), ({"batch_size": -1}, "batch_size")],
)
def test_a_config_that_cannot_train_is_refused(config: Json, name: str):
    with pytest.raises(ValueError, match=name):
        Config.of(config)


def test_unknown_members_and_nulls_of_a_config_are_passed_over():
    assert Config.of({"epsilon": None, "plot_tensors": True, "learning_rate": 1e-4}) == Config(learning_rate=1e-4)


def assistant(text: str, **more: object) -> Json:
    return {"role": "assistant", "content": text, **more}


def read_rows(*rows: list[Json], **config: object) -> RowReader:
    claim = {"kind": "sft", "experimental_config": None, "config": config}
    reader = RowReader(Config.of_job(claim), template_of(a_tokenizer))
    for messages in rows:
        reader.add({"messages": messages})
    return reader


def trained_text(reader: RowReader) -> list[list[str]]:
    tokens = a_tokenizer().convert_ids_to_tokens
    return [
        ["".join(tokens([token for token, on in zip(one.ids, one.mask, strict=True) if on])) for one in example]
        for example in reader.examples
    ]


def test_conversations_train_the_turns_of_the_assistant():
    row = [user("ab"), assistant("cd"), user("e"), assistant("f")]
    reader = read_rows(row)
    assert trained_text(reader) == [["cd<end>f<end>"]]
    assert a_tokenizer().convert_ids_to_tokens(reader.examples[0][0].ids) == [*"ab:cd", "<end>", *"e:f", "<end>"]
    assert trained_text(read_rows(row, assistant_turns="last")) == [["f<end>"]]
    weighted = [user("ab"), assistant("cd", weight=0), user("e"), assistant("f", weight=1)]
    assert trained_text(read_rows(weighted)) == [["f<end>"]]
    assert list(reader.notes()) == []


def test_a_job_on_conversations_has_its_own_rates_and_batches_in_the_order_of_its_rows():
    rows = [[user("a"), assistant(text)] for text in "abcde"]
    reader = read_rows(*rows, learning_rate=[0.3, 0.2, 0.0], batch_size="auto")
    batches = list(batches_of(reader.examples, reader.config))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert [example for batch in batches for example in batch] == reader.examples
    assert [reader.config.at(step).learning_rate for step in range(3)] == [0.3, 0.2, 0.0]
    with pytest.raises(ValueError, match="fewer than there are gradient steps"):
        reader.config.at(3)
    assert read_rows(*rows).config.learning_rate == 5e-5
    assert read_rows(*rows, learning_rate=0.1, batch_size=3).config.batch_size == 3


def test_rows_without_a_token_to_train_are_noted():
    reader = read_rows([user("a"), assistant("b", weight=0)])
    assert (reader.examples, next(iter(reader.notes()))[0]) == ([], "info")
    assert reader.reason() == "no row has a token to train"


def test_templates_get_the_arguments_of_tool_calls_as_objects():
    def told(arguments: str) -> object:
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return for_template({"role": "assistant", "tool_calls": [call]})["tool_calls"][0]["function"]["arguments"]

    assert [told('{"a": 1}'), told(""), told("{a")] == [{"a": 1}, {}, "{a"]
