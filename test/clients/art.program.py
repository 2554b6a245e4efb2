"""What a user of openpipe-art writes: one step of training on the serverless backend."""

import asyncio
import json
import os
from datetime import datetime, timezone

import art
from art.serverless.backend import ServerlessBackend
from openai.types.chat.chat_completion import Choice


def choice(answer):
    return {
        "finish_reason": "stop",
        "index": 0,
        "message": {"role": "assistant", "content": answer},
        "logprobs": {"content": [{"token": answer, "bytes": None, "logprob": -0.5, "top_logprobs": []}]},
    }


def trajectory(answer, reward):
    return art.Trajectory(
        messages_and_choices=[{"role": "user", "content": "yes or no?"}, Choice.model_validate(choice(answer))],
        reward=reward,
        metrics={"is_short": True},
    )


def captured(answer, reward):
    """The form in which newer versions keep the requests that they capture."""
    now = datetime.now(timezone.utc).isoformat()
    response = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice(answer)]}
    request = {"model": "m", "messages": [{"role": "user", "content": "yes or no?"}]}
    exchange = {"start_time": now, "end_time": now, "request": request, "response": response}
    return art.Trajectory(exchanges={"chat_completions": [exchange, exchange]}, reward=reward)


async def main():
    backend = ServerlessBackend(
        api_key=os.environ["SKEIN_API_KEY"], base_url=os.environ["SKEIN_URL"] + "/v1"
    )
    model = art.TrainableModel(name="agent", run_name="agent-1", project="demo", base_model="Qwen/Qwen2.5-14B-Instruct")
    await backend.register(model)
    groups = [art.TrajectoryGroup([trajectory("yes", 1.0), trajectory("no", 0.0)])]
    if "exchanges" in art.Trajectory.model_fields:
        groups.append(art.TrajectoryGroup([captured("yes", 1.0), captured("no", 0.0)]))
    await backend._client.models.log(model_id=model.id, trajectory_groups=groups, split="val")
    result = await backend.train(model, groups, learning_rate=1e-5)
    seen = {"model": model.id, "entity": model.entity, "groups": len(groups)}
    print(json.dumps({**seen, "step": result.step, "metrics": result.metrics}))


asyncio.run(main())
