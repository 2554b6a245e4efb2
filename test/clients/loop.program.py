"""The training loop with rollouts that the weave client records, with its ops, attributes and feedback."""

import json
import os
import sys

sys.path.insert(0, os.path.abspath("examples/loop"))

import loop
import weave

PROJECT = "loop/weave"


@weave.op
def chat(model, messages, answer):
    """Stands for weave's OpenAI integration, which would record this call."""
    return answer


@weave.op
def rollout(calls):
    for call in calls:
        chat(call["inputs"]["model"], call["inputs"]["messages"], call["output"])


def keep(skein, task, calls):
    with weave.attributes({"task_id": task}):
        return rollout.call(calls)[1]


def assess(skein, call, value):
    kept.append((call, value))


def main():
    skein = loop.Skein(os.environ["SKEIN_URL"], os.environ["SKEIN_API_KEY"], PROJECT, "weave")
    client = weave.init(PROJECT)
    recipe = {
        **loop.RECIPE,
        "reward": {"sum": [{"feedback": "score", "path": "value"}]},
        "llm": {"policy": "tiny", "op_names": ["weave:///%s/op/chat:*" % PROJECT]},
    }
    post = skein.post

    def after_flush(path, body):
        """Flushes the client before a build, because it sends calls in the background."""
        if path == "/build/create":
            for call, value in kept:
                call.feedback.add("score", {"value": value})
            kept.clear()
            client.flush()
        return post(path, body)

    skein.post = after_flush
    said = []
    means = loop.loop(skein, 12, False, keep, assess, recipe, said.append)
    print(json.dumps({"means": means, "said": said[-2:]}))


kept = []
main()
