"""What a user of openpipe-art writes: one step of training on the serverless backend."""

import asyncio
import json
import os

import art
from art.serverless.backend import ServerlessBackend
from openai.types.chat.chat_completion import Choice


def trajectory(answer, reward):
    choice = {
        "finish_reason": "stop",
        "index": 0,
        "message": {"role": "assistant", "content": answer},
        "logprobs": {"content": [{"token": answer, "bytes": None, "logprob": -0.5, "top_logprobs": []}]},
    }
    return art.Trajectory(
        messages_and_choices=[{"role": "user", "content": "yes or no?"}, Choice.model_validate(choice)],
        reward=reward,
        metrics={"is_short": True},
    )


async def main():
    backend = ServerlessBackend(
        api_key=os.environ["SKEIN_API_KEY"], base_url=os.environ["SKEIN_URL"] + "/v1"
    )
    model = art.TrainableModel(
        name="agent", entity="acme", project="demo", base_model="Qwen/Qwen2.5-14B-Instruct"
    )
    await backend.register(model)
    groups = [art.TrajectoryGroup([trajectory("yes", 1.0), trajectory("no", 0.0)])]
    await backend._client.models.log(model_id=model.id, trajectory_groups=groups, split="val")
    result = await backend.train(model, groups, learning_rate=1e-5)
    print(json.dumps({"model": model.id, "step": result.step, "metrics": result.metrics}))


asyncio.run(main())
