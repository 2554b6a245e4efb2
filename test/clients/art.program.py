"""A program of a user of openpipe-art: rollouts by the model's name, training steps, a log, deleted checkpoints."""

import asyncio
import json
import os
from contextlib import nullcontext

import art
import httpx
from art.serverless.backend import ServerlessBackend

WANTED = {"a?": "0123456789", "b?": "klmnopqrst"}
ANSWERS, LENGTH = 12, 3


async def answer(client, name, prompt):
    """Repeats the request until the newest step is served."""
    while True:
        try:
            return await client.chat.completions.create(
                model=name, messages=[{"role": "user", "content": prompt}], max_tokens=LENGTH, logprobs=True
            )
        except Exception as error:
            if "no provider serves" not in str(error):
                raise
            await asyncio.sleep(0.1)


async def rollout(model, prompt, wanted, is_captured, step):
    """Makes a trajectory, captured by ART or composed by its user. Without a step it uses the step of the lease."""
    client, name = model.openai_client(), model.get_inference_name(step)
    if is_captured:
        with art.Trajectory() as trajectory:
            said = await answer(client, name, prompt)
    else:
        said = await answer(client, name, prompt)
        trajectory = art.Trajectory(messages_and_choices=[{"role": "user", "content": prompt}, said.choices[0]])
    tokens = said.choices[0].logprobs.content
    trajectory.reward = sum(token.token in wanted for token in tokens) / LENGTH
    trajectory.metrics["is_short"] = True
    return trajectory


async def gathered(model, is_captured, step=None):
    return [
        art.TrajectoryGroup([await rollout(model, prompt, wanted, is_captured, step) for _ in range(ANSWERS)])
        for prompt, wanted in WANTED.items()
    ]


async def fine_tuned(client, model):
    """Runs an SFT job. The file goes to Skein, not to W&B artifacts as in ART. ART's client sends the rest."""
    rows = [[("user", "a?"), ("assistant", "012")], [("user", "b?"), ("assistant", "klm")]]
    messages = [[{"role": role, "content": content} for role, content in row] for row in rows]
    sent = httpx.post(
        f"{os.environ['SKEIN_URL']}/v1/preview/training-data",
        params={"entity": model.entity, "project": model.project},
        content="\n".join(json.dumps({"messages": row}) for row in messages),
        headers={"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/jsonl"},
    )
    job = await client.sft_training_jobs.create(
        model_id=model.id, training_data_url=sent.json()["url"], config={"batch_size": 1, "learning_rate": [2.0, 1.0]}
    )
    seen = []
    while not seen or seen[-1].type != "training_ended":
        after = {"after": seen[-1].id} if seen else {}
        seen += [event async for event in client.sft_training_jobs.events.list(training_job_id=job.id, **after)]
        await asyncio.sleep(0.1)
    return [[event.type, event.data.get("num_trained_tokens")] for event in seen]


def mean_reward(groups):
    rewards = [trajectory.reward for group in groups for trajectory in group]
    return sum(rewards) / len(rewards)


async def main():
    backend = ServerlessBackend(api_key=os.environ["SKEIN_API_KEY"], base_url=os.environ["SKEIN_URL"] + "/v1")
    model = art.TrainableModel(
        name="agent", run_name="agent-1", project="demo", base_model="letters", base_path=os.environ["HOME"]
    )
    await model.register(backend)
    seen = {"model": model.id, "entity": model.entity, "name": model.get_inference_name(), "train": []}
    rewards = []
    for step in range(2):
        is_captured = step == 1 and "exchanges" in art.Trajectory.model_fields
        assert await model.get_step() == step
        # art 0.5.18, the newest for Python 3.11, has no leases
        has_leases = hasattr(backend, "adapter_lease")
        async with backend.adapter_lease(model, step) if has_leases else nullcontext():
            groups = await gathered(model, is_captured)
        rewards.append(mean_reward(groups))
        await backend._client.models.log(model_id=model.id, trajectory_groups=groups, split="val")
        await model.log(groups, split="val")
        result = await backend.train(model, groups, learning_rate=4.0)
        seen["train"].append([result.step, result.artifact_name, result.metrics])
    seen["sft"] = await fine_tuned(backend._client, model)
    seen["best"] = rewards.index(max(rewards))
    await model.delete_checkpoints()
    seen["kept"] = [one.step async for one in backend._client.models.checkpoints.list(model_id=model.id)]
    seen["rewards"] = [*rewards, mean_reward(await gathered(model, False, 3))]
    print(json.dumps(seen))


asyncio.run(main())
