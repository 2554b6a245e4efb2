"""A model that is small enough to read: a softmax policy with a table of logits, served like vLLM serves one.

For each task it chooses a tool, then an answer. It has no tokenizer, but its tokens have ids and its log-probabilities
are real, and so is the gradient that `train` follows. Python >= 3.9, standard library only.
"""

import json
import math
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ACTIONS = 3
LEARNING_RATE = 0.3


def state_of(messages):
    """What the policy looks at: the task, and the tool that was called, if one was."""
    state = messages[0]["content"].split()[-1]
    for message in messages:
        for call in message.get("tool_calls") or []:
            state += "/" + call["function"]["name"]
    return state


class Policy:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.logits = {}
        self.step = 0

    def probabilities(self, state):
        weights = [math.exp(logit) for logit in self.logits.get(state, [0.0] * ACTIONS)]
        return [weight / sum(weights) for weight in weights]

    def sample(self, state):
        probabilities = self.probabilities(state)
        action = self.random.choices(range(ACTIONS), probabilities)[0]
        return action, math.log(probabilities[action])

    def train(self, groups):
        """One step along the policy gradient; answers its length. Advantages are those of the example trainer."""
        gradient = {}
        for group in groups:
            trajectories = group["trajectories"]
            rewards = [trajectory["reward"] for trajectory in trajectories]
            mean = sum(rewards) / len(rewards)
            deviation = math.sqrt(sum((reward - mean) ** 2 for reward in rewards) / len(rewards))
            for trajectory in trajectories:
                advantage = (trajectory["reward"] - mean) / (deviation + 1e-6)
                messages = []
                for turn in trajectory["messages_and_choices"]:
                    if "message" in turn:
                        state = state_of(messages)
                        token = turn["logprobs"]["content"][0]["token"]
                        sampled = int(token.split(":")[1])
                        row = gradient.setdefault(state, [0.0] * ACTIONS)
                        for action, probability in enumerate(self.probabilities(state)):
                            row[action] += advantage * ((action == sampled) - probability)
                    messages.append(turn.get("message", turn))
        for state, row in gradient.items():
            logits = self.logits.get(state, [0.0] * ACTIONS)
            self.logits[state] = [
                logit + LEARNING_RATE * slope for logit, slope in zip(logits, row)
            ]
        return math.sqrt(sum(slope * slope for row in gradient.values() for slope in row))

    def load(self, path):
        with open(path, encoding="utf-8") as file:
            checkpoint = json.load(file)
        self.logits, self.step = checkpoint["logits"], checkpoint["step"]

    def complete(self, request):
        """The answer to /v1/chat/completions."""
        messages = request["messages"]
        state = state_of(messages)
        action, logprob = self.sample(state)
        message = {"role": "assistant", "content": None, "refusal": None}
        if "/" in state:
            message["content"] = "answer%d" % action
        else:
            function = {"name": "tool%d" % action, "arguments": "{}"}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        token = "token_id:%d" % action
        logprobs = {
            "content": [
                {
                    "token": token,
                    "logprob": logprob,
                    "bytes": list(token.encode()),
                    "top_logprobs": [],
                }
            ]
        }
        return {
            "object": "chat.completion",
            "model": "tiny:step%d" % self.step,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop" if message["content"] else "tool_calls",
                    "message": message,
                    "logprobs": logprobs,
                    "token_ids": [action],
                }
            ],
            "usage": {"prompt_tokens": len(messages), "completion_tokens": 1},
        }


def serve(policy):
    """Serves the policy on a port of its own; answers the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps(policy.complete(json.loads(body))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d" % server.server_address[1]
