"""A program of a weave user whose models are called through the service: a structured model and a judge."""

import asyncio
import json

import weave
from weave.flow.llm_structured_model import LLMStructuredCompletionModel
from weave.scorers import LLMAsAJudgeScorer

client = weave.init("acme/judged")


def tried(function, *args, **kwargs):
    """Returns the result of a function, or the texts of its error and of the error's cause."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return [str(error), str(error.__cause__)]


def model(name, **params):
    return LLMStructuredCompletionModel(llm_model_id=name, default_params=params)


template = [{"role": "system", "content": "Answer in {language}."}]
writer = model("openai/gpt-4o-mini", messages_template=template, response_format="text", temperature=0.5)
prompt = weave.publish(weave.MessagesPrompt(messages=[{"role": "system", "content": "Think about {topic}."}]), name="think")
judge = LLMAsAJudgeScorer(
    model=model("gpt-4o-mini", response_format="json_object"),
    scoring_prompt="Is this short: {output}?",
)
weave.publish(judge, name="judge")
client.flush()


@weave.op
def write(question):
    return writer.predict(question, language="French")


seen = {}
seen["written"], call = write.call("Why?")
seen["prompted"] = model("gpt-4o-mini", prompt=prompt.uri, response_format="text").predict("Why?", topic="rain")
seen["scored"] = asyncio.run(call.apply_scorer(judge)).result
seen["refused"] = tried(model("gpt-4o-mini").predict, "too much")
seen["unknown"] = tried(model("nobody").predict, "Why?")
client.flush()
print(json.dumps(seen))
