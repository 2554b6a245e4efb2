"""A program of a user of Langfuse's SDK who keeps prompts. Its last line has what it read."""

import json

from langfuse import Langfuse
from langfuse.api import NotFoundError

langfuse = Langfuse()
NAME = "f o/p%"


def fetched(name, **options):
    return langfuse.get_prompt(name, cache_ttl_seconds=0, max_retries=0, **options)


def is_missing(name, **options):
    try:
        fetched(name, **options)
        return False
    except NotFoundError:
        return True


seen = {}
made = langfuse.create_prompt(name=NAME, prompt="Hi {{x}}", labels=["production"], tags=["t"])
again = langfuse.create_prompt(name=NAME, prompt="Hi {{x}}", labels=[])
seen["versions"] = [made.version, again.version]
seen["tags"] = again.tags
prompt = fetched(NAME)
seen["compiled"] = [prompt.compile(x=1), prompt.version]
seen["latest"] = fetched(NAME, label="latest").version
seen["moved"] = sorted(
    langfuse.update_prompt(name=NAME, version=2, new_labels=["production", "v1"]).labels
)
seen["left"] = fetched(NAME, version=1).labels
try:
    langfuse.update_prompt(name=NAME, version=2, new_labels=["latest"])
    seen["latest moved"] = True
except Exception as error:
    seen["latest moved"] = error.status_code
messages = [{"role": "user", "content": "{{q}}"}, {"type": "placeholder", "name": "h"}]
langfuse.create_prompt(name="c", type="chat", prompt=messages)
history = [{"role": "assistant", "content": "so"}]
seen["chat"] = langfuse.get_prompt("c", label="latest", type="chat").compile(q=1, h=history)
seen["missing"] = is_missing("no")
seen["fallback"] = langfuse.get_prompt("no", max_retries=0, fallback="F").prompt
langfuse.api.prompts.delete("f%20o%2Fp%25", version=2)
seen["after deletion"] = [fetched(NAME, label="latest").version, is_missing(NAME)]
listed = langfuse.api.prompts.list(name=NAME)
seen["listed"] = [[meta.name, meta.versions, meta.tags] for meta in listed.data]
print(json.dumps(seen))
