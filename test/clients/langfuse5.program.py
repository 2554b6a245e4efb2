"""What a user of Langfuse's SDK of version 5 writes: OpenTelemetry, and scores beside it. The last line is what it saw."""

import json

from langfuse import Langfuse, propagate_attributes

langfuse = Langfuse()
seen = {"auth": langfuse.auth_check()}
with langfuse.start_as_current_observation(name="answer", as_type="span", input="How is it?") as root:
    with propagate_attributes(session_id="talk", user_id="u", tags=["a"]):
        with langfuse.start_as_current_observation(
            name="llm",
            as_type="generation",
            model="gpt-4o-mini",
            input=[{"role": "user", "content": "How is it?"}],
        ) as generation:
            generation.update(output="Sunny.", usage_details={"input": 20, "output": 8})
            seen["generation"] = generation.id
        generation.score(name="style", value="short", data_type="CATEGORICAL")
    root.update(output="Sunny.")
    root.score_trace(name="accuracy", value=0.9)
    seen.update(trace=root.trace_id, root=root.id)
langfuse.flush()
print(json.dumps(seen))
