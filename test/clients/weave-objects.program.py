"""Tags and aliases of objects that weave for Python publishes, sums that its client requests, views and spans."""

import json

import weave
from opentelemetry import trace

client = weave.init("acme/objects")


@weave.op
def ask(question):
    return {"model": "our-model", "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}


@weave.op
def agent(question):
    ask(question)
    return ask(question)["model"]


seen = {}
first = weave.publish({"text": "first"}, name="prompt", tags=["draft"], aliases=["production"])
seen["first"] = weave.get_tags_and_aliases(first)
second = weave.publish({"text": "second"}, name="prompt")
weave.add_tags(second.uri, ["reviewed", "under review"])
weave.set_aliases(second, ["staging", "production", "my deploy.v2"])
seen["second"] = weave.get_tags_and_aliases(second)
seen["first after"] = weave.get_tags_and_aliases(first)
seen["read"] = {
    word: weave.ref("prompt:" + word).get()["text"]
    for word in ["production", "latest", "v0", "my deploy.v2"]
}
weave.remove_tags(second, ["reviewed", "never"])
weave.remove_aliases(second, "staging")
seen["lists"] = [weave.list_tags(), weave.list_aliases()]
nowhere = weave.ref("prompt:staging")
try:
    nowhere.get()
except Exception as error:
    seen["nowhere"] = str(error)

_, call = agent.call("why?")
client.flush()
call.feedback.add("quality", {"output": {"score": 0.5}})
client.flush()
project_id = client.project_id
usage = client.server.calls_usage({"project_id": project_id, "call_ids": [call.id], "include_costs": True})
seen["usage"] = usage.model_dump()["call_usage"][call.id]
of_trace = client.server.trace_usage({"project_id": project_id, "filter": {"trace_ids": [call.trace_id]}})
seen["usage of trace"] = sorted(u["our-model"].total_tokens for u in of_trace.call_usage.values())
seen["sizes"] = client.server.project_stats({"project_id": project_id}).objects_storage_size_bytes > 0
stats = client.server.feedback_stats(
    {"project_id": project_id, "start": "2026-01-01T00:00:00Z", "metrics": [{"json_path": "output.score"}]}
)
seen["feedback"] = stats.window_stats
try:
    client.server.image_create({"project_id": project_id, "inputs": {"model": "m", "prompt": "a cat"}})
except Exception as error:
    seen["not offered"] = str(error)


@weave.op
def viewed():
    weave.set_view("report", "# All is well", extension="md")


with trace.get_tracer("mine").start_as_current_span("own span"):
    _, shown = viewed.call()
client.flush()
trace.get_tracer_provider().force_flush()
[read] = client.get_calls(filter={"call_ids": [shown.id]}, include_storage_size=True)
seen["sizes of calls"] = read.storage_size_bytes > 0
seen["summary"] = json.loads(json.dumps(read.summary["weave"], default=str))
seen["deleted"] = client.delete_object_versions("prompt", ["production"])
print(json.dumps(seen))
