#!/usr/bin/env python3
"""A trainer for Skein, complete except for the training itself: copy it to write your own. Python >= 3.9, standard library only.

    SKEIN_URL=http://127.0.0.1:3000 SKEIN_API_KEY=skn_... python3 trainer.py [--once] [--wait SECONDS]

It claims a job, streams its trajectory groups, computes rewards, advantages and token counts, reports a step for each
sequence and completes the job with a checkpoint: a JSON file with those numbers, in --checkpoints. Put your optimiser
where `step_of` is called. The key needs the role `trainer`.
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import socket
import statistics
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

RETRIES = 5


class LeaseLost(Exception):
    """The job is no longer ours: stop, report nothing."""


class CancelRequested(Exception):
    """A client cancelled the job."""


class Refused(Exception):
    """The service refused a request for good."""


class Skein:
    def __init__(self, base_url, api_key):
        self.base_url = base_url.rstrip("/") + "/"
        self.api_key = api_key

    def open(self, method, path, body=None, token=None, timeout=60):
        """Answers the response. Tries again when the service is away or asks for it; 409 means that the lease is lost."""
        headers = {"Authorization": "Bearer " + self.api_key}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, allow_nan=False).encode()
        if token:
            headers["x-lease-token"] = token
        url = urllib.parse.urljoin(self.base_url, path)
        for attempt in range(RETRIES + 1):
            try:
                request = urllib.request.Request(url, data=data, headers=headers, method=method)
                return urllib.request.urlopen(request, timeout=timeout)
            except urllib.error.HTTPError as error:
                detail = error.read().decode("utf-8", "replace")
                if error.code == 409:
                    raise LeaseLost(detail) from None
                if error.code not in (429, 500, 502, 503, 504) or attempt == RETRIES:
                    raise Refused("%s %s: %s %s" % (method, path, error.code, detail)) from None
                pause = float(error.headers.get("Retry-After") or 2**attempt)
            except (urllib.error.URLError, OSError):
                if attempt == RETRIES:
                    raise
                pause = 2**attempt
            time.sleep(pause)
        raise AssertionError("not reached")

    def post(self, path, body, token=None, timeout=60):
        with self.open("POST", path, body, token, timeout) as response:
            text = response.read()
            return json.loads(text) if text else None


class Job:
    """A claimed job. A thread keeps its lease; `check` raises when there is no point in going on."""

    def __init__(self, skein, claim):
        self.skein = skein
        self.claim = claim
        self.seq = 0
        self.lost = None
        self.cancelled = False
        self.stopped = threading.Event()
        self.heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self):
        self.heart.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.heart.join()

    def post(self, name, body):
        path = "/v1/preview/trainer/jobs/%s/%s" % (self.claim["job_id"], name)
        return self.skein.post(path, body, self.claim["lease_token"])

    def _beat(self):
        while not self.stopped.wait(self.claim["heartbeat_seconds"]):
            try:
                self.cancelled = self.post("heartbeat", {})["cancel_requested"]
            except LeaseLost as error:
                self.lost = error
                return
            except Exception as error:  # the lease may still hold when the service is back
                print("heartbeat: %s" % error, file=sys.stderr)

    def check(self):
        if self.lost:
            raise self.lost
        if self.cancelled:
            raise CancelRequested()

    def report(self, kind, data):
        """Events are numbered, so that sending one again is harmless."""
        self.check()
        self.seq += 1
        self.post("events", {"events": [{"seq": self.seq, "type": kind, "data": data}]})

    def groups(self):
        """The trajectory groups, one after the other: memory is one group. The bytes are checked at the end."""
        payload = self.claim["payload"]
        with self.skein.open("GET", payload["url"], token=self.claim["lease_token"]) as response:
            source = Checked(response)
            with gzip.GzipFile(fileobj=source, mode="rb") as lines:
                for line in lines:
                    self.check()
                    yield json.loads(line)
            source.drain()
        if (source.bytes, source.hash.hexdigest()) != (payload["bytes"], payload["sha256"]):
            raise OSError("the payload did not arrive whole")


class Checked:
    """A file that counts and hashes what is read of it."""

    def __init__(self, file):
        self.file = file
        self.bytes = 0
        self.hash = hashlib.sha256()

    def read(self, size=-1):
        data = self.file.read(size)
        self.bytes += len(data)
        self.hash.update(data)
        return data

    def drain(self):
        while self.read(1 << 16):
            pass


def choices_of(trajectory):
    """Choices (with the key `message`) are the trainable turns: of exchanges, or in the main history and in additional ones."""
    for exchange in trajectory.get("exchanges", {}).get("chat_completions", []):
        yield from exchange["response"]["choices"]
    histories = [trajectory] + trajectory.get("additional_histories", [])
    for history in histories:
        for turn in history.get("messages_and_choices", []):
            if "message" in turn:
                yield turn


def sequence_of(trajectory, advantage):
    """The numbers of one trajectory. Sampled tokens are the entries of the logprobs of its choices."""
    logprobs = [
        token["logprob"]
        for choice in choices_of(trajectory)
        for token in (choice.get("logprobs") or {}).get("content") or []
    ]
    return {
        "reward": reward_of(trajectory),
        "advantage": advantage,
        "num_tokens": len(logprobs),
        "sum_logprob": math.fsum(logprobs),
    }


def reward_of(trajectory):
    """The default is 0; a null is a NaN that JSON could not hold, and trains nothing."""
    reward = trajectory.get("reward", 0.0)
    return 0.0 if reward is None else float(reward)


def sequences_of(group):
    """Advantages are rewards against the mean of the group, in units of its deviation."""
    trajectories = group.get("trajectories", [])
    rewards = [reward_of(trajectory) for trajectory in trajectories]
    if not rewards:
        return []
    mean, deviation = statistics.fmean(rewards), statistics.pstdev(rewards)
    return [
        sequence_of(trajectory, (reward - mean) / (deviation + 1e-6))
        for trajectory, reward in zip(trajectories, rewards)
    ]


def step_of(sequence, config):
    """Here an optimiser would update the model. The loss is that of a policy gradient at the sampled log-probabilities."""
    tokens = sequence["num_tokens"]
    mean_logprob = sequence["sum_logprob"] / tokens if tokens else 0.0
    return {
        "reward": sequence["reward"],
        "advantage": sequence["advantage"],
        "num_tokens": tokens,
        "loss": -sequence["advantage"] * mean_logprob,
        "learning_rate": (config or {}).get("learning_rate") or 5e-6,
    }


def metrics_of(sequences):
    if not sequences:
        return {"num_sequences": 0, "num_tokens": 0}
    return {
        "num_sequences": len(sequences),
        "num_tokens": sum(sequence["num_tokens"] for sequence in sequences),
        "reward": statistics.fmean(sequence["reward"] for sequence in sequences),
        "reward_std_dev": statistics.pstdev(sequence["reward"] for sequence in sequences),
    }


def train(job, folder):
    claim = job.claim
    sequences = [sequence for group in job.groups() for sequence in sequences_of(group)]
    job.report("training_started", {"num_sequences": len(sequences)})
    for sequence in sequences:
        job.report("gradient_step", step_of(sequence, claim["experimental_config"]))
    metrics = metrics_of(sequences)
    job.check()
    step = claim["parent_step"] + 1
    path = os.path.join(os.path.abspath(folder), "%s-step%d.json" % (claim["model_id"], step))
    content = json.dumps({"base_model": claim["base_model"], "step": step, "metrics": metrics})
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    checkpoint = {
        "uri": "file://" + urllib.parse.quote(path),
        "sha256": hashlib.sha256(content.encode()).hexdigest(),
        "size_bytes": len(content.encode()),
    }
    return job.post("complete", {"metrics": metrics, "checkpoint": checkpoint})["step"]


def run(skein, claim, folder):
    """One job from claim to end. Whatever goes wrong is reported, unless the job is no longer ours."""
    print("job %s, attempt %d" % (claim["job_id"], claim["attempt"]), flush=True)
    with Job(skein, claim) as job:
        try:
            print("job %s made step %d" % (claim["job_id"], train(job, folder)), flush=True)
        except LeaseLost as error:
            print("job %s is no longer ours: %s" % (claim["job_id"], error), file=sys.stderr)
        except Exception as error:
            print("job %s failed: %r" % (claim["job_id"], error), file=sys.stderr)
            is_worth_another_try = isinstance(error, OSError)
            report = {"error_message": repr(error), "retryable": is_worth_another_try}
            try:
                job.post("fail", report)
            except Exception as lost:  # then the lease runs out, and the job is tried again
                print("could not report it: %s" % lost, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--once", action="store_true", help="end after one claim")
    parser.add_argument("--wait", type=int, default=30, help="seconds a claim waits, at most 30")
    parser.add_argument("--checkpoints", default="checkpoints", help="folder for checkpoints")
    parser.add_argument("--base-model", action="append", default=[], help="train this one only")
    arguments = parser.parse_args()
    skein = Skein(os.environ["SKEIN_URL"], os.environ["SKEIN_API_KEY"])
    wish = {
        "worker_id": "%s-%d" % (socket.gethostname(), os.getpid()),
        "base_models": arguments.base_model,
        "wait_s": arguments.wait,
    }
    while True:
        claim = skein.post("/v1/preview/trainer/claims", wish, timeout=arguments.wait + 30)
        if claim:
            run(skein, claim, arguments.checkpoints)
        if arguments.once:
            return


if __name__ == "__main__":
    main()
