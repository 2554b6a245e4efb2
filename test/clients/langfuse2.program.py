"""A program of a user of Langfuse's SDK, version 2. Its last line of output is JSON with the values that it read."""

import json

from langfuse import Langfuse

langfuse = Langfuse(flush_at=3)
seen = {"auth": langfuse.auth_check()}
trace = langfuse.trace(name="answer", session_id="talk", user_id="u", input="How is it?", tags=["a"])
span = trace.span(name="search", input={"city": "Rome"})
generation = span.generation(
    name="llm", model="gpt-4o-mini", input=[{"role": "user", "content": "How is it?"}]
)
langfuse.flush()
generation.end(output="Sunny.", usage={"input": 20, "output": 8})
span.end(output=["sunny"])
trace.event(name="clicked")
trace.update(output="Sunny.")
trace.score(name="accuracy", value=0.9, comment="fine")
generation.score(name="style", value="short", data_type="CATEGORICAL")
langfuse.flush()
seen.update(trace=trace.id, generation=generation.id)
print(json.dumps(seen))
