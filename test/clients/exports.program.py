"""Reads the exports of a build with the code of their trainers: openpipe-art, and TRL with a small tokenizer."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath("examples/loop"))

import loop
from art.utils.trajectory_migration import deserialize_trajectory_groups
from datasets import Dataset
from openai.types.chat.chat_completion import Choice
from policy import Policy, serve
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl.data_utils import is_conversational, maybe_apply_chat_template, maybe_extract_prompt

TEMPLATE = (
    "{% if tools %}<tools>{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}"
    "{% endfor %}){% endfor %}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def tokenizer():
    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="<unk>")
    made.chat_template = TEMPLATE
    return made


def rows_of(skein, build_id, format, **options):
    body = {"project_id": skein.project_id, "build_id": build_id, "format": format, **options}
    request = loop.urllib.request.Request(
        skein.url + "/build/export",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", **skein.basic},
    )
    with loop.urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def as_art(text):
    """Loads the groups with ART's own loader and counts them."""
    groups = deserialize_trajectory_groups(text)
    trajectories = [trajectory for group in groups for trajectory in group.trajectories]
    choices = [
        turn
        for trajectory in trajectories
        for turn in trajectory.messages_and_choices
        if isinstance(turn, Choice)
    ]
    return {
        "groups": len(groups),
        "trajectories": len(trajectories),
        "choices": len(choices),
        "logprobs": sum(len(choice.logprobs.content) for choice in choices),
        "rewards": sorted({trajectory.reward for trajectory in trajectories}),
    }


def as_trl(text):
    """Checks that TRL accepts all rows as conversations, and renders the first with its chat template."""
    rows = [json.loads(line) for line in text.splitlines()]
    Dataset.from_list(rows)
    tokens = tokenizer()
    rendered = [maybe_apply_chat_template(maybe_extract_prompt(row), tokens) for row in rows]
    return {
        "rows": len(rows),
        "are_conversations": all(is_conversational(row) for row in rows),
        "columns": sorted(rendered[0]),
        "first": rendered[0],
    }


def main():
    skein = loop.Skein(os.environ["SKEIN_URL"], os.environ["SKEIN_API_KEY"], "exports/demo", "weave")
    for task, calls, value in loop.rollouts_of(serve(Policy(seed=1))):
        root = loop.record(skein, task, calls)
        skein.post(
            "/feedback/create",
            {
                "weave_ref": "weave:///%s/call/%s" % (skein.project_id, root),
                "feedback_type": "score",
                "payload": {"output": {"score": value}},
            },
        )
    recipe = {**loop.RECIPE, "reward": {"sum": [{"feedback": "score", "path": "output.score"}]}}
    obj = {"project_id": skein.project_id, "object_id": "r", "val": recipe}
    digest = loop.request(skein.url + "/obj/create", {"obj": obj}, skein.basic)["digest"]
    ref = "weave:///%s/object/r:%s" % (skein.project_id, digest)
    build_id = skein.post("/build/create", {"recipe_ref": ref, "mode": "all"})["build_id"]
    seen = {"art": as_art(rows_of(skein, build_id, "art"))}
    for format in ["trl-sft", "trl-dpo", "trl-kto"]:
        seen[format] = as_trl(rows_of(skein, build_id, format))
    print(json.dumps(seen))


main()
