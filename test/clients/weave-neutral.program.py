"""A program of a weave user (Python), for the root and for the door. Its last line has the values that it read."""

import json
import sys

import weave

client = weave.init("acme/neutral")


@weave.op
def double(n):
    return 2 * n


seen = {}
if sys.argv[1:] == ["write"]:
    result, call = double.call(2)
    weave.publish({"lr": 1}, name="settings")
    client.flush()
    call.feedback.add_reaction("👍")
    call.feedback.add_note("well done")
    call.feedback.add("quality", {"stars": 5})
    client.flush()
for name, read in {
    "calls": lambda: [c.op_name.split("/")[-1].split(":")[0] for c in client.get_calls()],
    "feedback": lambda: sorted(f.feedback_type for f in client.get_feedback()),
    "call_feedback": lambda: sorted(f.feedback_type for f in client.get_calls()[0].feedback),
    "object": lambda: weave.ref("settings:latest").get()["lr"],
}.items():
    try:
        seen[name] = read()
    except Exception as error:
        seen[name] = str(error)
print(json.dumps(seen))
