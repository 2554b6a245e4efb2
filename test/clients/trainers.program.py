"""Records rollouts with known tokens, and compares them with the tokens that trainers make of the build's exports.

The trainers are ART, TRL, Tinker's cookbook and verifiers. Each runs its own code on a CPU. A tokenizer of characters
and a chat template stand for those of a model.
"""

import json
import os
import sys
import tempfile
import uuid

sys.path.insert(0, os.path.abspath("examples/loop"))
os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", WANDB_MODE="disabled", TOKENIZERS_PARALLELISM="false")

import loop
import tinker
from art.preprocessing.tokenize import tokenize_trajectory_groups
from art.utils.trajectory_migration import deserialize_trajectory_groups
from datasets import load_dataset
from openai.types.chat.chat_completion import Choice
from tinker_cookbook.completers import TokensWithLogprobs
from tinker_cookbook.preference.preference_datasets import ComparisonBuilderFromJsonl
from tinker_cookbook.rl.data_processing import trajectory_to_data
from tinker_cookbook.rl.types import Trajectory, Transition
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, SFTConfig, SFTTrainer
from verifiers.v1.trace import WireTrace

TEMPLATE = (
    "{% if tools %}<|tools|>{{ tools | tojson }}<|end|>{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"maximum": 10.0}}}]
# a number that no float can hold, and one that would lose its decimal point as an integer
ARGUMENTS = '{"id": 12345678901234567890, "share": 10.0}'


def make_tokenizer():
    special = ["<unk>", "<|end|>", *("<|%s|>" % role for role in ["tools", "user", "assistant", "tool"])]
    vocabulary = {token: i for i, token in enumerate([*special, *map(chr, range(32, 127))])}
    characters = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    characters.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    characters.add_special_tokens(special)
    made = PreTrainedTokenizerFast(
        tokenizer_object=characters, unk_token="<unk>", eos_token="<|end|>", pad_token="<unk>"
    )
    made.chat_template = TEMPLATE
    return made


TOKENIZER = make_tokenizer()


def as_objects(messages):
    """Parses the arguments of tool calls, because chat templates expect objects."""
    made = json.loads(json.dumps(messages))
    for message in made:
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return made


def tokens_of(messages, **options):
    return TOKENIZER.apply_chat_template(as_objects(messages), tools=TOOLS, **options)["input_ids"]


def ask(messages, answer, model="tiny:step1"):
    """Makes a model call with all token ids, as an engine returns them, and the answered message."""
    sent = tokens_of(messages, add_generation_prompt=True)
    message = {"role": "assistant", "content": None, **answer}
    sampled = tokens_of([*messages, message])[len(sent) :]
    logprobs = [{"token": "token_id:%d" % token, "logprob": -0.5, "top_logprobs": []} for token in sampled]
    choice = {
        "index": 0,
        "finish_reason": "tool_calls" if "tool_calls" in answer else "stop",
        "message": message,
        "logprobs": {"content": logprobs},
        "token_ids": sampled,
    }
    usage = {"prompt_tokens": len(sent), "completion_tokens": len(sampled)}
    output = {"model": model, "prompt_token_ids": sent, "choices": [choice], "usage": usage}
    inputs = {"model": model, "messages": messages, "tools": TOOLS}
    call = {"inputs": inputs, "output": output, "started_at": loop.now(), "ended_at": loop.now()}
    return call, message


def rollout(task, end):
    """Makes a tool call, a turn of another model, and an answer. The id of the tool call is random."""
    call_id = "call_" + uuid.uuid4().hex[:8]
    tool = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": ARGUMENTS}}
    messages = [{"role": "user", "content": "task %d" % task}]
    first, message = ask(messages, {"tool_calls": [tool]})
    messages = [*messages, message, {"role": "tool", "tool_call_id": call_id, "content": "seen"}]
    second, message = ask(messages, {"content": "a plan"}, model="planner")
    messages = [*messages, message, {"role": "user", "content": "and now?"}]
    third, _ = ask(messages, {"content": end, "reasoning_content": "so"})
    return [first, second, third]


def prepared(config, trainer, file, **options):
    """Returns the data set of a TRL trainer after the trainer has tokenised and masked it."""
    sizes = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    with tempfile.TemporaryDirectory() as folder:
        # some trainers load a second copy of the model from the same folder
        LlamaForCausalLM(LlamaConfig(vocab_size=len(TOKENIZER), **sizes)).save_pretrained(folder)
        model = LlamaForCausalLM.from_pretrained(folder)
        arguments = config(output_dir=folder, report_to=[], use_cpu=True, bf16=False, max_length=None, **options)
        rows = load_dataset("json", data_files=file, split="train")
        return list(trainer(model=model, args=arguments, train_dataset=rows, processing_class=TOKENIZER).train_dataset)


def pair(prompt, completion):
    """Returns the tokens of a sequence and a mask of the trained ones."""
    return [[*prompt, *completion], [0] * len(prompt) + [1] * len(completion)]


def as_art(text):
    results = tokenize_trajectory_groups(
        TOKENIZER,
        deserialize_trajectory_groups(text),
        allow_training_without_logprobs=False,
        scale_rewards=True,
        shuffle_group_trajectories=False,
        drop_zero_advantage_trajectories=False,
    )
    return [[result.token_ids, result.assistant_mask] for result in results]


def as_tinker(text):
    """Converts to datums of the cookbook. Their inputs lack the last token, their targets the first."""
    found = []
    for group in deserialize_trajectory_groups(text):
        for trajectory in group.trajectories:
            transitions = []
            for choice in trajectory.messages_and_choices:
                if not isinstance(choice, Choice):
                    continue
                logprobs = [one.logprob for one in choice.logprobs.content]
                sampled = TokensWithLogprobs(choice.model_extra["token_ids"], logprobs)
                sent = tinker.ModelInput.from_ints(choice.model_extra["prompt_token_ids"])
                transitions.append(Transition(sent, sampled, 0.0, False))
            empty = tinker.ModelInput.from_ints([])
            for datum in trajectory_to_data(Trajectory(transitions, empty), trajectory.reward):
                targets = datum.loss_fn_inputs["target_tokens"].data
                mask = datum.loss_fn_inputs["mask"].data
                tokens = [datum.model_input.to_ints()[0], *targets]
                found.append([tokens, [0, *map(int, mask)]])
    return found


def as_verifiers(text):
    traces = [WireTrace.model_validate_json(line) for line in text.splitlines()]
    branches = [branch for trace in traces for branch in trace.branches]
    for branch in branches:
        logprobs = [value for value, on in zip(branch.logprobs, branch.sampled_mask) if on]
        assert logprobs == [-0.5] * sum(branch.sampled_mask)
    return {
        "sequences": [[branch.token_ids, list(map(int, branch.sampled_mask))] for branch in branches],
        "rewards": sorted({trace.reward for trace in traces}),
        "arguments": sorted(
            {call.arguments for trace in traces for turn in trace.assistant_messages for call in turn.tool_calls or []}
        ),
    }


def as_trl(file_of):
    sft = prepared(SFTConfig, SFTTrainer, file_of("trl-sft"))
    kto = prepared(KTOConfig, KTOTrainer, file_of("trl-kto"), per_device_train_batch_size=2)
    dpo = prepared(DPOConfig, DPOTrainer, file_of("trl-dpo"))
    return {
        "sft": [[row["input_ids"], [int(label != -100) for label in row["labels"]]] for row in sft],
        "kto": [pair(row["prompt_ids"], row["completion_ids"]) for row in kto],
        "labels": [row["label"] for row in kto],
        "dpo": [pair(row["prompt_ids"], row[side]) for row in dpo for side in ["chosen_ids", "rejected_ids"]],
    }


def main():
    skein = loop.Skein(os.environ["SKEIN_URL"], os.environ["SKEIN_API_KEY"], "trainers/demo", "weave")
    choices, sequences, ends = [], [], []
    for task in range(3):
        for end, value in [("right", 1), ("wrong", -1)]:
            calls = rollout(task, end)
            loop_root = loop.record(skein, task, calls)
            skein.post(
                "/feedback/create",
                {
                    "weave_ref": "weave:///%s/call/%s" % (skein.project_id, loop_root),
                    "feedback_type": "score",
                    "payload": {"output": {"score": value}},
                },
            )
            own = [call["output"] for call in calls if call["output"]["model"] != "planner"]
            turns = [(one["prompt_token_ids"], one["choices"][0]["token_ids"]) for one in own]
            choices += [pair(sent, sampled) for sent, sampled in turns]
            ends.append(pair(*turns[-1]))
            whole, mask = pair(*turns[-1])
            start = len(turns[0][0])
            mask[start : start + len(turns[0][1])] = [1] * len(turns[0][1])
            sequences.append([whole, mask])

    recipe = {
        **loop.RECIPE,
        "build": {"token_exact": True},
        "reward": {"sum": [{"feedback": "score", "path": "output.score"}]},
        "lint": {"duplicate": "ignore"},
    }
    obj = {"project_id": skein.project_id, "object_id": "r", "val": recipe}
    digest = loop.request(skein.url + "/obj/create", {"obj": obj}, skein.basic)["digest"]
    ref = "weave:///%s/object/r:%s" % (skein.project_id, digest)
    built = skein.post("/build/create", {"recipe_ref": ref, "mode": "all"})

    def export(format):
        body = {"project_id": skein.project_id, "build_id": built["build_id"], "format": format}
        headers = {"Content-Type": "application/json", **skein.basic}
        request = loop.urllib.request.Request(skein.url + "/build/export", json.dumps(body).encode(), headers)
        with loop.urllib.request.urlopen(request) as answer:
            return answer.read().decode()

    with tempfile.TemporaryDirectory() as folder:

        def file_of(format):
            path = os.path.join(folder, format + ".jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.write(export(format))
            return path

        text = export("art")
        art, traces, trl = as_art(text), as_verifiers(export("verifiers")), as_trl(file_of)
        builder = ComparisonBuilderFromJsonl(train_path=file_of("tinker-preference"))
        comparisons, _ = builder.get_labeled_comparisons()
    seen = {
        "trained tokens": built["counts"]["trained_tokens"],
        "trained by art": sum(sum(mask) for _, mask in art),
        "art": sorted(art) == sorted(sequences),
        "tinker": sorted(as_tinker(text)) == sorted(sequences),
        "verifiers": sorted(traces["sequences"]) == sorted(sequences),
        "rewards": traces["rewards"],
        "arguments": traces["arguments"],
        "trl-sft": sorted(trl["sft"]) == sorted(choices),
        "trl-kto": sorted(trl["kto"]) == sorted(choices),
        "labels": sorted(trl["labels"]),
        "trl-dpo": sorted(trl["dpo"]) == sorted(ends),
        "comparisons": [
            [one.label, one.comparison.completion_A[0]["content"], one.comparison.completion_B[0]["content"]]
            for one in comparisons
        ],
    }
    print(json.dumps(seen))


main()
