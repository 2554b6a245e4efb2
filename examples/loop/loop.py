#!/usr/bin/env python3
"""The whole loop: rollouts are recorded, scored, built into training data, trained on, and run again by the new policy.

    SKEIN_URL=http://127.0.0.1:3000 SKEIN_API_KEY=skn_... python3 loop.py [--rounds 12] [--shuffle]

Python >= 3.9, standard library only. The key needs the role `admin`, because this program records, builds and trains.
Copy it and put your agent, your scorer and your trainer in their places.
"""

import argparse
import base64
import datetime
import hashlib
import json
import os
import random
import sys
import tempfile
import urllib.error
import urllib.request
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trainer"))

import trainer  # noqa: E402  the example trainer: claims, leases, payloads
from policy import Policy, serve  # noqa: E402

TASKS = 8
ROLLOUTS = 8
SCORE = "svc.runnable.score"

RECIPE = {
    "_class_name": "Recipe",
    "_bases": ["Object", "BaseModel"],
    "version": 1,
    "select": {"unit": "trace", "settle_s": 0},
    "llm": {"policy": "tiny"},
    "reward": {"sum": [{"feedback": SCORE, "path": "output.score"}]},
    "group": {"by": ["attributes.task_id"], "min": 2, "max": 16},
    "lint": {"zero_variance": "ignore", "duplicate": "ignore"},
}


def request(url, body, headers=None):
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **(headers or {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise SystemExit("%s: %s %s" % (url, error.code, error.read().decode())) from None


class Skein:
    def __init__(self, url, key, project_id, scheme="svc"):
        self.url = url.rstrip("/")
        self.scheme = scheme
        self.key = key
        self.project_id = project_id
        credentials = base64.b64encode(("me:" + key).encode()).decode()
        self.basic = {"Authorization": "Basic " + credentials}
        self.bearer = {"Authorization": "Bearer " + key}

    def post(self, path, body):
        return request(self.url + path, {"project_id": self.project_id, **body}, self.basic)

    def preview(self, path, body):
        return request(self.url + "/v1/preview" + path, body, self.bearer)


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


# The agent: two calls of the model, with a tool in between


def ask(model_url, messages):
    """One call of the model, as it is recorded: its inputs, its output, and when it was."""
    inputs = {"model": "tiny", "messages": messages, "logprobs": True, "temperature": 1}
    started_at = now()
    output = request(model_url + "/v1/chat/completions", inputs)
    return {"inputs": inputs, "output": output, "started_at": started_at, "ended_at": now()}


def rollout(task, ask_model):
    """The calls of one rollout of a task."""
    messages = [{"role": "user", "content": "Solve task %d" % task}]
    first = ask_model(messages)
    choice = first["output"]["choices"][0]["message"]
    call = choice["tool_calls"][0]
    answered = {"role": "tool", "tool_call_id": call["id"], "content": call["function"]["name"]}
    second = ask_model(messages + [choice, answered])
    return [first, second]


def score(task, calls):
    """What a scorer makes of a rollout: the right tool is worth 0.2, with the right answer 1."""
    tool = calls[0]["output"]["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
    answer = calls[1]["output"]["choices"][0]["message"]["content"]
    if tool != "tool%d" % (task % 3):
        return 0.0
    return 1.0 if answer == "answer%d" % ((task + 1) % 3) else 0.2


# Recording: what an SDK does


def record(skein, task, calls):
    """Records a rollout as a root and the calls of the model below it; answers the id of the root."""
    root, trace = str(uuid.uuid4()), str(uuid.uuid4())
    common = {"project_id": skein.project_id, "trace_id": trace}
    starts = [
        {
            **common,
            "id": root,
            "op_name": "rollout",
            "started_at": calls[0]["started_at"],
            "attributes": {"task_id": task},
            "inputs": {},
        }
    ]
    ends = [{"id": root, "ended_at": calls[-1]["ended_at"], "output": None}]
    for call in calls:
        id = str(uuid.uuid4())
        starts.append(
            {
                **common,
                "id": id,
                "parent_id": root,
                "op_name": "chat",
                "started_at": call["started_at"],
                "inputs": call["inputs"],
            }
        )
        ends.append({"id": id, "ended_at": call["ended_at"], "output": call["output"]})
    batch = [{"mode": "start", "req": {"start": start}} for start in starts]
    batch += [
        {"mode": "end", "req": {"end": {"project_id": skein.project_id, **end}}} for end in ends
    ]
    skein.post("/call/upsert_batch", {"batch": batch})
    return root


def judge(skein, root, value):
    """Says what a rollout is worth."""
    skein.post(
        "/feedback/create",
        {
            "svc_ref": "svc:///%s/call/%s" % (skein.project_id, root),
            "feedback_type": SCORE,
            "runnable_ref": "svc:///%s/object/scorer:v0" % skein.project_id,
            "payload": {"output": {"score": value}},
        },
    )


# Training: the example trainer with a real step


def train(skein, policy, base_model, folder):
    """Takes the job, follows its gradient, and answers the checkpoint: where it is, and its step."""
    service = trainer.Skein(skein.url, skein.key)
    wish = {"worker_id": "loop", "base_models": [base_model], "wait_s": 10}
    claim = service.post("/v1/preview/trainer/claims", wish)
    with trainer.Job(service, claim) as job:
        groups = list(job.groups())
        job.report("training_started", {"num_sequences": sum(len(g["trajectories"]) for g in groups)})
        job.report("gradient_step", {"gradient": policy.train(groups)})
        step = claim["parent_step"] + 1
        path = os.path.join(folder, "step%d.json" % step)
        content = json.dumps({"logits": policy.logits, "step": step})
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        checkpoint = {
            "uri": "file://" + path,
            "sha256": hashlib.sha256(content.encode()).hexdigest(),
            "size_bytes": len(content),
        }
        job.post("complete", {"metrics": {}, "checkpoint": checkpoint})
    return path, step


def rollouts_of(policy_url):
    """A round of rollouts: each task some times, with its calls and its score."""
    done = []
    for i in range(TASKS * ROLLOUTS):
        task = i % TASKS
        calls = rollout(task, lambda messages: ask(policy_url, messages))
        done.append((task, calls, score(task, calls)))
    return done


def loop(skein, rounds, shuffle, keep=record, assess=judge, recipe=RECIPE, say=print):
    """Mean scores of the rounds, and of the policy that came out of the last one."""
    entity, project = skein.project_id.split("/")
    base_model = "tiny-" + uuid.uuid4().hex[:8]
    model = skein.preview(
        "/models",
        {"entity": entity, "project": project, "name": "tiny", "base_model": base_model},
    )
    obj = {"project_id": skein.project_id, "object_id": "loop", "val": recipe}
    digest = request(skein.url + "/obj/create", {"obj": obj}, skein.basic)["digest"]
    recipe_ref = "%s:///%s/object/loop:%s" % (skein.scheme, skein.project_id, digest)
    policy = Policy(seed=1)
    model_url = serve(policy)
    chance = random.Random(2)
    means = []
    with tempfile.TemporaryDirectory() as folder:
        for round in range(rounds + 1):
            done = rollouts_of(model_url)
            means.append(sum(value for _, _, value in done) / len(done))
            if round == rounds:
                say("policy of step %2d: mean score %.2f" % (policy.step, means[-1]))
                return means
            values = [value for _, _, value in done]
            if shuffle:
                chance.shuffle(values)
            for (task, calls, _), value in zip(done, values):
                assess(skein, keep(skein, task, calls), value)
            built = skein.post("/build/create", {"recipe_ref": recipe_ref, "mode": "new"})
            counts = built["counts"]
            job = skein.post(
                "/build/submit", {"build_id": built["build_id"], "model_id": model["id"]}
            )
            path, step = train(skein, policy, base_model, folder)
            policy.load(path)
            say(
                "policy of step %2d: mean score %.2f, %d units, %d groups, job %s"
                % (step - 1, means[-1], counts["units"], counts["groups"], job["job_id"])
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--project", default="loop/" + uuid.uuid4().hex[:8])
    parser.add_argument("--shuffle", action="store_true", help="the control: scores of others")
    parser.add_argument("--record", action="store_true", help="record one round, and train nothing")
    arguments = parser.parse_args()
    skein = Skein(os.environ["SKEIN_URL"], os.environ["SKEIN_API_KEY"], arguments.project)
    if not arguments.record:
        loop(skein, arguments.rounds, arguments.shuffle)
        return
    for task, calls, value in rollouts_of(serve(Policy(seed=1))):
        judge(skein, record(skein, task, calls), value)
    print("%d rollouts of %d tasks are recorded and scored" % (TASKS * ROLLOUTS, TASKS))


if __name__ == "__main__":
    main()
