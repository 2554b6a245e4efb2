import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { healArguments } from './healing.js';
import { Histories, type History } from './histories.js';
import type { LintCode, RecipeBuildDto } from '../recipe/recipe.dto.js';
import type { LlmCall } from './llm-calls.js';
import type { Choice } from './recorded-call.js';
import { policyStep, type Recipe } from '../recipe/recipe.js';
import { hashParts } from './history-messages.js';

interface Finding {
  code: LintCode;
  call: string;
}

export interface Rollout {
  histories: History[];
  findings: Finding[];
  /** Hashes of the first call: its first messages, its tools, and both together. */
  messagesKey: string;
  toolsKey: string;
  promptKey: string;
  models: string[];
  /** Steps of the policy, in so far as model names contain them. */
  steps: number[];
  dialects: string[];
  finishReasons: string[];
  /** Ids of the calls of the rollout. */
  calls: string[];
}

/** Joins calls of a model, which must be in order. Returns null when no call is trained. */
export async function makeRollout(
  calls: readonly LlmCall[],
  recipe: Recipe,
): Promise<Rollout | null> {
  const histories = new Histories();
  const facts = new RolloutFacts(recipe.build);
  const healed = healArguments(calls);
  await mapYielding(calls, (call) => {
    const policy = policyStep(recipe.llm.policy, call.models);
    histories.add(call, policy !== null);
    if (policy) facts.add(call, policy.step);
  });
  const { dialects, models, steps, finishReasons } = facts;
  if (finishReasons.length === 0) return null;
  return {
    histories: histories.list,
    findings: [
      ...facts.findings,
      ...Array.from(healed, (call) => ({ code: 'tool_args_healed' as const, call })),
      ...histories.oddities,
      ...lengthFindings(histories, recipe.build),
    ],
    ...promptKeys(calls[0]!),
    models: sorted(models),
    steps: [...steps].toSorted((a, b) => a - b),
    dialects: sorted(dialects),
    finishReasons,
    calls: calls.map(({ id }) => id),
  };
}

const sorted = (texts: Set<string>) => [...texts].toSorted((a, b) => (a < b ? -1 : 1));

/** Hashes the messages before the first answer of the model, and the tools. */
export function promptKeys({ messages, toolsKey }: LlmCall) {
  const end = messages.findIndex(({ role }) => role === 'assistant');
  const asked = end < 0 ? messages : messages.slice(0, end);
  const messagesKey = hashParts(asked.map(({ canonical }) => canonical));
  const key = hashParts([toolsKey]);
  return { messagesKey, toolsKey: key, promptKey: hashParts([messagesKey, key]) };
}

/** Collects facts about the trained calls of a rollout, and their lints. */
class RolloutFacts {
  readonly findings: Finding[] = [];
  readonly models = new Set<string>();
  readonly steps = new Set<number>();
  readonly dialects = new Set<string>();
  readonly finishReasons: string[] = [];

  constructor(private readonly rules: RecipeBuildDto) {}

  add(call: LlmCall, step: number | null): void {
    const model = call.models.find((name) => /:step\d+$/.test(name)) ?? call.models[0];
    if (model !== undefined) this.models.add(model);
    if (step !== null) this.steps.add(step);
    this.dialects.add(call.dialect);
    const codes = new Set<LintCode>();
    for (const choice of call.choices) {
      this.finishReasons.push(choice.finishReason ?? 'unknown');
      for (const code of choiceCodes(choice, call)) codes.add(code);
      if (this.rules.token_exact && !isTokenExact(choice, call)) codes.add('token_inexact');
    }
    if (isOffPolicy(call)) codes.add('sampling_not_policy');
    if (call.isReserialised) codes.add('tool_args_reserialised');
    for (const code of codes) this.findings.push({ code, call: call.id });
  }
}

function* choiceCodes(choice: Choice, call: LlmCall): Generator<LintCode> {
  if (choice.finishReason === 'length') yield 'truncated';
  if (!choice.logprobs) yield 'logprobs_missing';
  else if (!isComplete(choice, call)) yield 'logprobs_incomplete';
}

/** Returns true when a trainer has nothing to tokenise. */
const isTokenExact = ({ tokenIds, logprobs }: Choice, { promptTokenIds }: LlmCall): boolean =>
  promptTokenIds !== null && tokenIds !== null && logprobs?.length === tokenIds.length;

/**
 * Returns true when the sampling differs from the policy at temperature 1. Absent settings have the defaults of the
 * APIs.
 */
const isOffPolicy = ({ sampling: { temperature, topP, topK } }: LlmCall): boolean =>
  (temperature !== null && temperature !== 1) ||
  (topP !== null && topP < 1) ||
  (topK !== null && topK > 0);

/** Returns true when each token has a logprob, and the tokens spell the text. */
function isComplete(choice: Choice, call: LlmCall): boolean {
  const logprobs = choice.logprobs!;
  const tokens =
    choice.tokenIds?.length ?? (call.choices.length === 1 ? call.completionTokens : null);
  if (tokens !== null && tokens !== logprobs.length) return false;
  const { content } = choice;
  // vLLM can be set to spell tokens and their bytes as `token_id:N`
  const isSpelled = logprobs.every(({ token, bytes }) => bytes && !token.startsWith('token_id:'));
  if (content === null || !isSpelled) return true;
  const text = Buffer.from(content);
  const all = Buffer.concat(logprobs.map(({ bytes }) => Buffer.from(bytes!)));
  const stop = logprobs.at(-1)!.bytes!.length; // the last token may be the stop token
  return text.equals(all) || text.equals(all.subarray(0, all.length - stop));
}

function* lengthFindings({ list }: Histories, { max_tokens }: RecipeBuildDto): Generator<Finding> {
  for (const { tokens, calls } of list)
    if (tokens !== null && tokens > max_tokens) yield { code: 'too_long', call: calls.at(-1)! };
}
