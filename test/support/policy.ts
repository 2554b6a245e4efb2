import type { RolloutSpec } from './rollouts.js';
import { toolCall, toolAnswer, user } from './rollouts.js';

/** Returns a linear congruential generator of numbers from 0 to 1. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const ACTIONS = 3;
export const TASKS = 8;
export const ROLLOUTS = 8;
const LEARNING_RATE = 0.3;

/**
 * A softmax policy with a table of logits: which tool to call for each task, and which answer to give after each tool.
 * The loop trains it. It is small, but its log-probabilities and its gradients are real.
 */
export class Policy {
  step = 0;
  private logits = new Map<string, number[]>();

  constructor(private readonly random: () => number) {}

  private row(state: string): number[] {
    return this.logits.get(state) ?? Array.from({ length: ACTIONS }, () => 0);
  }

  probabilities(state: string): number[] {
    const weights = this.row(state).map(Math.exp);
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  }

  sample(state: string): number {
    let left = this.random();
    const at = this.probabilities(state).findIndex((p) => (left -= p) < 0);
    return at < 0 ? ACTIONS - 1 : at;
  }

  /** Makes one policy-gradient step, with advantages relative to the mean reward of the group. */
  train(groups: any[]): void {
    const gradients = new Map<string, number[]>();
    for (const { trajectories } of groups) {
      const rewards = trajectories.map(({ reward }: any) => reward);
      const mean = rewards.reduce((a: number, b: number) => a + b, 0) / rewards.length;
      const deviation = Math.sqrt(
        rewards.reduce((a: number, r: number) => a + (r - mean) ** 2, 0) / rewards.length,
      );
      for (const { messages_and_choices: turns, reward } of trajectories) {
        const advantage = (reward - mean) / (deviation + 1e-6);
        for (const { state, action } of decisionsOf(turns)) {
          const gradient = gradients.get(state) ?? this.row(state).map(() => 0);
          for (const [i, p] of this.probabilities(state).entries())
            gradient[i]! += advantage * (Number(i === action) - p);
          gradients.set(state, gradient);
        }
      }
    }
    for (const [state, gradient] of gradients)
      this.logits.set(
        state,
        this.row(state).map((logit, i) => logit + LEARNING_RATE * gradient[i]!),
      );
  }

  /** Samples a rollout of a task: a tool call, then an answer. It is recorded in vLLM's format. */
  rollout(task: number, id: string, second: number): RolloutSpec {
    const tool = this.sample(`${task}`);
    const answer = this.sample(`${task}/${tool}`);
    const messages = [user(`task ${task}`)];
    const call = { ...toolCall('c', '{}'), function: { name: `tool${tool}`, arguments: '{}' } };
    const then = [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      toolAnswer('c', `tool${tool} says so`),
    ];
    const isRight = tool === task % ACTIONS;
    const isBothRight = isRight && answer === (task + 1) % ACTIONS;
    return {
      id,
      task: `task-${task}`,
      second,
      score: isBothRight ? 1 : isRight ? 0.2 : 0,
      asks: [
        { messages, content: null, tool_calls: [call], ...this.sampled(`${task}`, tool) },
        { messages: then, content: `answer${answer}`, ...this.sampled(`${task}/${tool}`, answer) },
      ],
    };
  }

  private sampled(state: string, action: number) {
    const logprob = Math.log(this.probabilities(state)[action]!);
    const token = `token_id:${action}`;
    const logprobs = {
      content: [{ token, logprob, bytes: [...Buffer.from(token)], top_logprobs: [] }],
    };
    return { model: `tiny:step${this.step}`, choice: { logprobs, token_ids: [action] } };
  }
}

/** Reads a trajectory as a trainer does: the state before each choice, and the sampled token. */
function decisionsOf(turns: any[]): { state: string; action: number }[] {
  const task = /\d+/.exec(turns[0].content)![0];
  let state = task;
  return turns
    .filter((turn) => turn.message)
    .map(({ message, logprobs }) => {
      const action = Number(logprobs.content[0].token.split(':')[1]);
      const decision = { state, action };
      if (message.tool_calls) state = `${task}/${message.tool_calls[0].function.name.slice(4)}`;
      return decision;
    });
}
