"""A program of a user of weave for Python. Its last line of output is JSON with the values that the client read."""

import json

import weave

client = weave.init("acme/demo")


@weave.op
def double(n):
    return 2 * n


@weave.op
def total(a, b):
    return double(a) + double(b)


@weave.op
def fail():
    double(21)
    raise ValueError("out of order")


seen = {}
seen["result"], call = total.call(1, 2)
seen["total"] = call.id
try:
    fail()
except ValueError as error:
    seen["error"] = str(error)

rows = [{"question": "capital of France", "weight": 1.5}, {"question": "π to 2 places", "weight": 2}]
ref = weave.publish(weave.Dataset(name="questions", rows=rows))
seen["rows"] = [dict(row) for row in weave.ref(ref.uri()).get().rows]

with weave.thread("conversation"):
    total(3, 4)
    total(5, 6)

client.flush()
call.feedback.add_reaction("👍")
call.feedback.add_note("well done")
call.feedback.add("quality", {"stars": 5})
call.set_display_name("Total of doubles")
client.add_cost(llm_id="our-model", prompt_token_cost=0.5, completion_token_cost=1.5)
client.flush()

seen["feedback"] = sorted(f.feedback_type for f in client.get_call(call.id).feedback)
seen["costs"] = [[c.llm_id, c.prompt_token_cost] for c in client.query_costs()]
seen["calls"] = [c.id for c in client.get_calls(filter={"trace_ids": [call.trace_id]})]
print(json.dumps(seen))
