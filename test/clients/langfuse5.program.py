"""A program of a user of Langfuse's SDK, version 5: OpenTelemetry and scores. Its last line has the values it read."""

import base64
import json
import urllib.request

from langfuse import Langfuse, propagate_attributes
from langfuse.media import LangfuseMedia

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
    picture = LangfuseMedia(content_bytes=b"no real picture", content_type="image/png")
    uri = "data:audio/wav;base64," + base64.b64encode(b"no real sound").decode()
    root.update(output="Sunny.", metadata={"picture": picture, "sound": uri})
    root.score_trace(name="accuracy", value=0.9)
    seen.update(trace=root.trace_id, root=root.id)
langfuse.create_score(name="helpful", value=1, session_id="talk")
langfuse.create_score(name="mean", value=0.5, dataset_run_id="0123456789abcdef")
langfuse.flush()
media = langfuse.api.media.get(picture._media_id)
seen.update(media=picture._media_id, bytes=urllib.request.urlopen(media.url).read().decode())
print(json.dumps(seen))
