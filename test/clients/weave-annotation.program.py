"""Annotation queues, their annotations, and a dataset that the service makes from calls."""

import asyncio
import base64
import json
import os
import urllib.request

import weave
from weave.flow.annotation_spec import AnnotationSpec

client = weave.init("acme/annotation")


@weave.op
def answer(prompt):
    return {"choices": [{"message": {"content": prompt.upper()}}]}


def post(path, body):
    """Sends a request for which the client has no method."""
    key = base64.b64encode(("api:" + os.environ["WANDB_API_KEY"]).encode()).decode()
    request = urllib.request.Request(
        os.environ["WF_TRACE_SERVER_URL"] + path,
        json.dumps({"project_id": client.project_id, **body}).encode(),
        {"Content-Type": "application/json", "Authorization": "Basic " + key},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def publish(obj):
    ref = weave.publish(obj)
    client.flush()
    return ref


seen = {}
calls = [answer.call(prompt)[1] for prompt in ["one", "two", "three"]]
client.flush()
spec = publish(AnnotationSpec(name="stars", field_schema={"type": "integer", "minimum": 1, "maximum": 5}))

queue_id = client.create_annotation_queue(name="Review", scorer_refs=[spec.uri], description="how good?")
queue = client.get_annotation_queue(queue_id)
seen["queue"] = [queue.name, queue.description, queue.scorer_refs == [spec.uri], queue.deleted_at]
seen["listed"] = [q.name for q in client.list_annotation_queues(name="rev", sort_by=[{"field": "name", "direction": "asc"}])]
seen["updated"] = client.update_annotation_queue(queue_id, name="Second review").name
ids = [call.id for call in calls]
added = client.add_calls_to_annotation_queue(queue_id, call_ids=[*ids, "nobody"], display_fields=["inputs.prompt"])
again = client.add_calls_to_annotation_queue(queue_id, call_ids=ids[:1], display_fields=[])
seen["added"] = [added.added_count, added.duplicates, again.added_count, again.duplicates]

items = client.list_annotation_queue_items(queue_id, include_position=True)
seen["items"] = [[ids.index(item.call_id), item.position_in_queue, item.annotation_state] for item in items]
seen["fields"] = items[0].display_fields
for item, state in zip(items, ["completed", "in_progress"]):
    progress = {"project_id": client.project_id, "queue_id": queue_id, "item_id": item.id, "annotation_state": state}
    client.server.annotator_queue_items_progress_update(progress)
left = client.list_annotation_queue_items(queue_id, filter={"annotation_states": ["unstarted", "in_progress"]}, limit=5)
seen["left"] = [[ids.index(item.call_id), item.annotation_state, item.annotator_user_id] for item in left]
stats = client.get_annotation_queue_stats([queue_id, "unknown"])
seen["stats"] = [[stat.total_items, stat.completed_items] for stat in stats]

client.server.feedback_create(
    {
        "project_id": client.project_id,
        "weave_ref": calls[0].ref.uri,
        "feedback_type": "wandb.annotation.stars",
        "payload": {"value": 4},
        "annotation_ref": spec.uri,
        "queue_id": queue_id,
    }
)
calls[1].feedback.add("wandb.annotation.stars", {"value": 2}, annotation_ref=spec.uri)
client.flush()
seen["feedback"] = [[f.payload["value"], f.queue_id == queue_id] for f in calls[0].feedback]
client.server.feedback_create(
    {
        "project_id": client.project_id,
        "weave_ref": calls[2].ref.uri,
        "feedback_type": "wandb.annotation.stars",
        "payload": {"value": 6},
        "annotation_ref": spec.uri,
    }
)
client.flush()  # logs that the service refused it
seen["refused"] = len(list(calls[2].feedback))


def found(field, operator, value):
    query = {"$expr": {operator: [{"$getField": field}, {"$literal": value}]}}
    return sorted(ids.index(call.id) for call in client.get_calls(query=query))


seen["in queue"] = found("annotation_queue_items.queue_id", "$eq", queue_id)
seen["rated"] = found("feedback.[wandb.annotation.stars].payload.value", "$gt", 3)

columns = {
    "prompt": "inputs.prompt",
    "expected": "output.choices[0].message.content",
    "stars": "feedback.[wandb.annotation.stars].payload.value",
}
made = post("/datasets/add_from_calls", {"object_id": "golden", "call_ids": ids[:2], "columns": columns})
dataset = weave.ref(made["ref"]).get()
seen["dataset"] = [type(dataset).__name__, dataset.name, [dict(row) for row in dataset.rows]]
publish(dataset.add_rows([{"prompt": "own", "expected": "OWN", "stars": 5}]))
more = post("/datasets/add_from_calls", {"object_id": "golden", "call_ids": ids, "columns": columns})
seen["more"] = [more["added"], more["duplicates"], more["version_index"], more["num_rows"]]
seen["grown"] = [row["prompt"] for row in weave.ref("golden:latest").get().rows]


@weave.op
def same(expected, output):
    return output["choices"][0]["message"]["content"] == expected


evaluation = weave.Evaluation(dataset=weave.ref(made["ref"]).get(), scorers=[same])
seen["evaluated"] = asyncio.run(evaluation.evaluate(answer))["same"]["true_count"]

client.delete_calls([ids[0]])
gone = post("/datasets/lineage", {"object_id": "golden", "erased": True})["rows"]
seen["to remove"] = [[row["call_id"] == ids[0], row["erased"]] for row in gone]
removed = post("/datasets/remove_rows", {"object_id": "golden", "row_digests": [row["row_digest"] for row in gone]})
seen["removed"] = [removed["removed"], [row["prompt"] for row in weave.ref("golden:latest").get().rows]]
seen["queue after"] = [s.total_items for s in client.get_annotation_queue_stats([queue_id])]
seen["deleted"] = client.delete_annotation_queue(queue_id).deleted_at is not None
try:
    client.get_annotation_queue(queue_id)
except Exception as error:
    seen["read deleted"] = type(error).__name__

client.finish()
print(json.dumps(seen))
