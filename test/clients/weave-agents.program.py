"""Agents of a user of weave for Python. The last line of output is JSON with the values that the client read."""

import datetime
import json
import time

import weave
from opentelemetry import trace
from weave.conversation import Message, ToolCallPart, Usage

client = weave.init("acme/agents")
start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)


@weave.op
def answer(question):
    """An agent that runs inside an op."""
    with conversation.start_turn(user_message=question) as turn:
        with turn.start_llm(model="gpt-4o-mini", provider_name="openai") as llm:
            llm.record(
                input_messages=[Message(role="user", content=question)],
                output_messages=[Message(role="assistant", content="later")],
                usage=Usage(input_tokens=7, output_tokens=3),
            )
    return "later"


conversation = weave.start_conversation(
    agent_name="planner", conversation_id="talk 1", conversation_name="Trips", model="gpt-4o-mini"
)
with conversation.start_turn(user_message="Where to?", agent_version="2", system_instructions=["Be brief"]) as turn:
    with turn.start_llm(model="gpt-4o-mini", provider_name="openai") as llm:
        llm.record(
            input_messages=[Message(role="user", content="Where to?")],
            output_messages=[
                Message(role="assistant", content="Let me look", parts=[]),
                Message(role="assistant", parts=[ToolCallPart(id="c1", name="lookup", arguments={"city": "Rome"})]),
            ],
            usage=Usage(input_tokens=100, output_tokens=20, cache_read_input_tokens=10),
        )
    with turn.start_tool(name="lookup", arguments='{"city": "Rome"}', tool_call_id="c1") as tool:
        tool.result = '{"sunny": true}'
    with turn.start_llm(model="gpt-4o-mini", provider_name="openai") as llm:
        llm.set_attributes({"team": "blue", "attempt": 2, "share": 0.5, "is_last": True})
        llm.record(
            input_messages=[Message(role="user", content="Where to?"), Message(role="tool", content='{"sunny": true}', tool_call_id="c1")],
            output_messages=[Message(role="assistant", content="Rome, it is sunny")],
            usage=Usage(input_tokens=150, output_tokens=5),
        )
_, call = answer.call("And then?")
conversation.end()

other = weave.start_conversation(agent_name="critic", conversation_id="talk 2")
try:
    with other.start_turn(user_message="Judge") as turn:
        raise ValueError("no")
except ValueError:
    pass
other.end()
trace.get_tracer_provider().force_flush()
client.flush()
time.sleep(1)

seen = {}
seen["agents"] = [a.model_dump(mode="json") for a in client.get_agents()]
seen["versions"] = [v.model_dump(mode="json") for v in client.get_agent_versions(agent_name="planner")]
spans = list(client.get_agent_spans())
seen["spans"] = [s.model_dump(mode="json") for s in spans]
seen["count"] = len(client.get_agent_spans(agent_name="planner"))
turns = client.get_agent_turns(conversation_id="talk 1", include_feedback=True)
seen["turns"] = turns.model_dump(mode="json")
turn = client.get_agent_turn(trace_id=turns.turns[0].trace_id, include_feedback=True)
seen["turn"] = turn.model_dump(mode="json")
seen["stats"] = client.get_agent_span_stats(
    start=start,
    metrics=[{"alias": "tokens", "value": {"source": "field", "key": "input_tokens"}, "value_type": "number", "aggregations": ["sum"], "percentiles": [0.5]}],
    group_by=[{"source": "field", "key": "operation.name", "alias": "operation"}],
).model_dump(mode="json")
seen["attributes"] = client.get_agent_custom_attributes().model_dump(mode="json")
seen["search"] = client.search_agents(query="SUNNY").model_dump(mode="json")
seen["call"] = call.id
print(json.dumps(seen, default=str))
