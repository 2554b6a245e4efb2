"""Odd values that a weave user (Python) may record. Prints the value read back and the client's log for each."""

import datetime
import json
import logging
import re

import weave

logged = []


class Log(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())


client = weave.init("acme/odd")
logging.getLogger("weave").addHandler(Log(logging.ERROR))
seen = {}


@weave.op
def work(value=None):
    return value


def short(value):
    """Shortens a long text to its two ends and its length."""
    if isinstance(value, str) and len(value) > 200:
        return [value[:12], value[-60:], len(value)]
    return value


def errors():
    """Returns the reasons for dropped data that were logged since the last time."""
    said, logged[:] = "\n".join(logged), []
    return re.findall(r"'detail': ['\"](.*?)['\"], 'code'", said) or [line[:200] for line in said.split("\n") if line]


def record(name, run, *fields):
    """Makes a call and reads it back."""
    try:
        call = run()
    except Exception as error:
        call = None
        logged.append(f"raised {type(error).__name__}: {error}")
    client.flush()
    found = call and list(client.get_calls(filter={"call_ids": [call.id]}))
    seen[name] = {
        "stored": bool(found),
        **{field: short(getattr(found[0], field)) for field in fields if found},
        "errors": errors(),
    }


def in_thread(thread_id):
    def run():
        with weave.thread(thread_id):
            return work.call(1)[1]

    return run


def failing(text):
    def run():
        call = client.create_call("failing", {})
        client.finish_call(call, exception=ValueError(text))
        return call

    return run


def made(op="made", inputs=None, **options):
    def run():
        call = client.create_call(op, inputs or {}, **options)
        client.finish_call(call, output=None)
        return call

    return run


def nested(depth):
    value = "bottom"
    for _ in range(depth):
        value = [value]
    return value


record("thread id of 1,000 characters", in_thread("t" * 1000), "thread_id")
record("thread id of 1,280 bytes", in_thread("é" * 640), "thread_id")
record("thread id of 1,281 bytes", in_thread("é" * 640 + "x"), "thread_id")
record("thread id with a tab", in_thread("a\tb\n"), "thread_id")
record("thread id with NUL", in_thread("a\0b"), "thread_id")
record("thread id that is empty", in_thread(""), "thread_id")
record("exception over 1 MiB", failing("é" * 1_500_000), "exception")
record("exception with NUL", failing("a\0b"), "exception")
record("exception with half a surrogate pair", failing("a\ud800b"), "exception")
record("op name of 2,000 characters", made("o" * 2000), "op_name")
record("op name with NUL", made("o\0p"), "op_name")
record("display name of 2,000 characters", made(display_name="d" * 2000), "display_name")
record("display name of a function", made(display_name=lambda call: "d" * 2000), "display_name")
record("display name with NUL", made(display_name="a\0b"), "display_name")
record("inputs with NUL", made(inputs={"a\0b": "c\0d"}), "inputs")
record("inputs with NaN and infinity", made(inputs={"a": [float("nan"), float("inf")]}), "inputs")
record("inputs with half a surrogate pair", made(inputs={"a": "\ud800"}), "inputs")
record("inputs of 200 levels", made(inputs={"a": nested(200)}))
record("inputs of 33 MiB", made(inputs={"a": "x" * 33 * 1024 * 1024}))
record("attributes of 1 MiB", made(attributes={"a": "x" * 1024 * 1024}))
record("started_at of the year 1", made(started_at=datetime.datetime(1, 1, 1)), "started_at")
record("started_at before the year 1", made(started_at=datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))), "started_at")
client.set_wandb_run_context("r" * 300, step=-1)
record("run step below 0", made(), "wb_run_id")
client.set_wandb_run_context("r" * 300, step=1)
record("run id of 300 characters", made(), "wb_run_id")
client.clear_wandb_run_context()


def renamed(*names):
    """Renames a call. Names before the first None are set while the call's start is still in the client's queue."""

    def run():
        call = made(display_name="of the start")()
        for name in names:
            if name is None:
                client.flush()
            elif name:
                call.set_display_name(name)
            else:
                call.remove_display_name()
        return call

    return run


record("name taken away", renamed(None, ""), "display_name")
record("name taken away at once", renamed(""), "display_name")
record("name set at once", renamed("new"), "display_name")
record("name taken away and set", renamed(None, "", None, "new"), "display_name")

calls = []
for i in range(12):
    with weave.thread("a\0b" if i in (2, 9) else None):
        calls.append(client.create_call("many", {"i": i}, use_stack=False))
for call in calls:
    client.finish_call(call, output=None)
client.flush()
ids = {call.id for call in calls}
stored = [call.inputs["i"] for call in client.get_calls() if call.id in ids]
seen["twelve calls, two of which cannot be stored"] = {"stored": sorted(stored), "errors": errors()}

_, call = work.call(1)
client.flush()


def feedback(name, give):
    """Adds feedback, reads it back and removes it."""
    give()
    client.flush()
    rows = list(client.get_feedback(limit=10_000))
    refs = sorted({row.weave_ref.replace(call.id, "<id>") for row in rows})
    seen[name] = {"stored": len(rows), "refs": refs, "errors": errors()}
    client.server.feedback_purge({"project_id": client.project_id, "query": {"$expr": {"$literal": True}}})


feedback("feedback", lambda: call.feedback.add("fine", {"a": 1}))
feedback("feedback over 1 MiB", lambda: call.feedback.add("large", {"a": "x" * 1024 * 1024}))
feedback("feedback type of 300 characters", lambda: call.feedback.add("t" * 300, {"a": 1}))
feedback("feedback type with NUL", lambda: call.feedback.add("a\0b", {"a": 1}))
feedback("feedback with NUL", lambda: call.feedback.add("nul", {"a\0": "\0"}))
feedback("note of 2,000 characters", lambda: call.feedback.add_note("n" * 2000))
feedback("reaction of two emojis", lambda: call.feedback.add_reaction("👍👍"))
feedback("feedback by a creator of 300 characters", lambda: call.feedback.add("c", {"a": 1}, creator="c" * 300))
feedback("feedback on an agent's turn", lambda: client.get_agent_turn_feedback("0123456789abcdef0123456789abcdef").add("turn", {"a": 1}))
feedback("feedback on an agent's conversation", lambda: client.get_agent_conversation_feedback("a long/talk ü").add("talk", {"a": 1}))
feedback("feedback on an agent's span", lambda: client.get_agent_span_feedback("0123456789abcdef").add("span", {"a": 1}))


def several():
    for i in range(3000):
        call.feedback.add("several", {"i": i})


def mixed():
    for i in range(8):
        call.feedback.add("mixed", {"i": "x" * (1024 * 1024 if i in (1, 6) else 1)})


feedback("3,000 pieces of feedback", several)
feedback("eight pieces of feedback, two over 1 MiB", mixed)



def published(name, value):
    """Publishes a value, and reads it back."""
    back = None
    try:
        ref = weave.publish(value, name=name)
        client.flush()
        back = ref.get()
        back = [dict(row) for row in back.rows] if isinstance(value, weave.Dataset) else dict(back)
    except Exception as error:
        logged.append(f"raised {type(error).__name__}: {error}")
    sent = list(value.rows) if isinstance(value, weave.Dataset) else value
    seen["object " + name] = {"stored": back == sent, "errors": errors()[:1]}


published("with NUL", {"a": "\0"})
published("of 40 MiB", {"a": "x" * 40 * 1024 * 1024})
published("with rows with NUL", weave.Dataset(rows=[{"a": "\0"}, {"a": ""}]))
published("with a row of 40 MiB", weave.Dataset(rows=[{"a": "x" * 40 * 1024 * 1024}]))
try:
    content = weave.Content.from_bytes(b"x" * 101 * 1024 * 1024, mimetype="application/octet-stream")
    weave.publish({"file": content}, name="with a file of 101 MiB")
    client.flush()
except Exception as error:
    logged.append(f"raised {type(error).__name__}: {error}")
seen["file of 101 MiB"] = {"stored": False, "errors": errors()[:1]}

print(json.dumps(seen, default=str))
