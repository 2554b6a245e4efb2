#!/usr/bin/env python3
"""Asks a model through the gateway, scores its answers, and lets it be trained on them, round by round.

    SKEIN_URL=http://127.0.0.1:3000 SKEIN_API_KEY=skn_... python3 ask.py --project acme/agent --base-model Qwen/Qwen2.5-0.5B-Instruct

Python >= 3.9, standard library only. The key needs the role `writer`. Beside it run `skein-train`, which trains the jobs, and
`skein-serve`, which loads each checkpoint into the engine of the gateway (../../trainer). Nothing here holds a token or a weight:
the gateway records what was asked and answered. Put your prompts in the place of TASKS, and your scorer in that of `score`.
"""

import argparse
import base64
import json
import os
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

SCORE = "svc.runnable.letters"
#: What is asked, and the characters that are right in an answer.
TASKS = {
    "only digits?": "0123456789",
    "only vowels?": "aeiou",
    "only letters from k to t?": "klmnopqrst",
    "only letters from a to j?": "abcdefghij",
}


def score(answer, wanted):
    """The part of the answer that is right: 0 to 1."""
    return sum(letter in wanted for letter in answer) / max(len(answer), 1)


class Skein:
    def __init__(self, url, key):
        self.url = url.rstrip("/")
        basic = base64.b64encode(("me:" + key).encode()).decode()
        self.headers = {"Authorization": "Basic " + basic, "Content-Type": "application/json"}
        self.bearer = {**self.headers, "Authorization": "Bearer " + key}

    def send(self, path, body=None, headers=None):
        """The answer, and its headers."""
        of_preview = path.startswith("/v1/")
        request = urllib.request.Request(
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {**(self.bearer if of_preview else self.headers), **(headers or {})},
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return json.loads(answer.read()), answer.headers
        except urllib.error.HTTPError as error:
            raise SystemExit("%s: %s %s" % (path, error.code, error.read().decode())) from None


def wait(what, is_there):
    print("waits for", what, end="\r", flush=True)
    while not is_there():
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default=os.environ.get("SKEIN_URL", "http://127.0.0.1:3000"))
    parser.add_argument("--key", default=os.environ.get("SKEIN_API_KEY"))
    parser.add_argument("--project", default="acme/agent")
    parser.add_argument("--model", default="agent")
    parser.add_argument("--base-model", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--answers", type=int, default=16, help="to each task in a round")
    parser.add_argument("--max-tokens", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    given = parser.parse_args()
    skein = Skein(given.url, given.key)
    entity, project = given.project.split("/")
    asked = {"entity": entity, "project": project, "name": given.model, "base_model": given.base_model}
    model, _ = skein.send("/v1/preview/models", {**asked, "return_existing": True})
    recipe = {
        "_class_name": "Recipe",
        "_bases": ["Object", "BaseModel"],
        "version": 1,
        "select": {"unit": "trace", "settle_s": 0},
        "llm": {"policy": given.model},
        "reward": {"sum": [{"feedback": SCORE, "path": "output.score"}]},
        "group": {"by": ["attributes.task_id"]},
        "build": {"token_exact": True},
        "lint": {"zero_variance": "ignore", "duplicate": "ignore"},
        "train": {"experimental_config": {"loss_fn": "cispo", "learning_rate": given.learning_rate}},
    }
    name = given.model + "-recipe"
    published = {"project_id": given.project, "object_id": name, "val": recipe}
    version, _ = skein.send("/obj/create", {"obj": published})
    ref = "svc:///%s/object/%s:%s" % (given.project, name, version["digest"])
    newest = "/v1/preview/models/%s/checkpoints?limit=1&order=desc" % model["id"]
    for _ in range(given.rounds):
        step = skein.send(newest)[0]["data"][0]["step"]
        here = "/v1/preview/models/%s/checkpoints/%d" % (model["id"], step)
        wait("step %d to be served" % step, lambda: skein.send(here)[0]["serving"])

        def rollout(task):
            attributes = {"task_id": "%d %s" % (step, task)}
            headers = {"X-Skein-Project": given.project, "X-Skein-Attributes": json.dumps(attributes)}
            body = {"model": "%s:step%d" % (given.model, step), "messages": [{"role": "user", "content": task}]}
            body = {**body, "max_tokens": given.max_tokens, "temperature": 1}
            answer, told = skein.send("/v1/chat/completions", body, headers)
            return told["x-skein-call-id"], score(answer["choices"][0]["message"]["content"] or "", TASKS[task])

        with ThreadPoolExecutor(8) as pool:
            scored = list(pool.map(rollout, [task for task in TASKS for _ in range(given.answers)]))
        feedback = [
            {
                "project_id": given.project,
                "svc_ref": "svc:///%s/call/%s" % (given.project, call),
                "feedback_type": SCORE,
                "payload": {"output": {"score": value}},
                "runnable_ref": "svc:///%s/object/letters:v0" % given.project,
            }
            for call, value in scored
        ]
        told, _ = skein.send("/feedback/batch/create", {"batch": feedback})
        refused = [one["error"] for one in told["res"] if "error" in one]
        if refused:
            raise SystemExit(json.dumps(refused[0]))
        print("step %3d: mean score %.2f" % (step, sum(value for _, value in scored) / len(scored)), flush=True)
        build, _ = skein.send("/build/create", {"project_id": given.project, "recipe_ref": ref, "mode": "new"})
        submit = {"project_id": given.project, "build_id": build["build_id"], "model_id": model["id"]}
        job, _ = skein.send("/build/submit", submit)
        path = "/v1/preview/training-jobs/" + job["job_id"]
        wait("job " + job["job_id"], lambda: skein.send(path)[0]["status"] in ("succeeded", "failed", "cancelled"))
        ended, _ = skein.send(path)
        if ended["status"] != "succeeded":
            raise SystemExit("the job %s: %s" % (ended["status"], ended.get("error_message")))


if __name__ == "__main__":
    main()
