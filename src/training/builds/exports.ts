import { skipValue } from '../../platform/json/json-grammar.js';
import { Turn } from '../../platform/time/turn.js';
import type { Json } from './llm-calls.js';
import { isObject } from '../../platform/json/is-object.js';
import { parsedText, sortedJson } from './turns.js';

export const FORMATS = [
  'art',
  'openai-sft',
  'openai-dpo',
  'trl-sft',
  'trl-dpo',
  'trl-kto',
  'prompts',
] as const;
export type Format = (typeof FORMATS)[number];

export interface ExportOptions {
  minReward: number | null;
  minMargin: number;
}

/** A message, and whether it is a choice to train. */
interface Told {
  message: Json;
  isTrained: boolean;
}

/** A history as it is exported. */
interface Exported {
  told: Told[];
  tools: unknown[] | null;
  reward: number;
}

/** Converts groups into JSON texts, one at a time. For ART they stay as they are. */
export async function* exportRows(
  format: Exclude<Format, 'art'>,
  groups: AsyncIterable<Buffer>,
  options: ExportOptions,
): AsyncGenerator<Buffer> {
  const turn = new Turn();
  for await (const group of groups) {
    const { groupKey, rollouts } = await groupOf(group.toString('utf8'));
    for (const row of WRITERS[format](rollouts, options, groupKey)) {
      if (turn.isOver) await turn.next();
      yield Buffer.from(JSON.stringify(row));
    }
  }
}

type Writer = (rollouts: Exported[][], options: ExportOptions, groupKey: unknown) => object[];

const WRITERS: Record<Exclude<Format, 'art'>, Writer> = {
  'openai-sft': (rollouts, options) =>
    good(rollouts, options).map(({ told, tools }) => ({
      messages: told.map(({ message, isTrained }) => ({
        ...message,
        ...(message['role'] === 'assistant' && !isTrained && { weight: 0 }),
      })),
      ...withTools(tools),
    })),
  'openai-dpo': (rollouts, options) =>
    pairsOf(rollouts, options).flatMap(({ prompt, chosen, rejected, tools }) => ({
      input: { messages: prompt, ...withTools(tools), ...(tools && { parallel_tool_calls: true }) },
      preferred_output: [chosen[0]],
      non_preferred_output: [rejected[0]],
    })),
  'trl-sft': (rollouts, options) =>
    good(rollouts, options).map(({ told, tools }) => ({
      messages: asObjects(told.map(({ message }) => message)),
      ...withTools(tools),
    })),
  'trl-dpo': (rollouts, options) =>
    pairsOf(rollouts, options).map(({ prompt, chosen, rejected, tools }) => ({
      prompt: asObjects(prompt),
      chosen: asObjects(chosen),
      rejected: asObjects(rejected),
      ...withTools(tools),
    })),
  'trl-kto': (rollouts, { minReward }) => {
    const limit = minReward ?? meanReward(rollouts);
    return firsts(rollouts).flatMap(({ told, tools, reward }) => {
      const at = told.findIndex(({ isTrained }) => isTrained);
      if (at < 1) return [];
      const messages = told.map(({ message }) => message);
      return {
        prompt: asObjects(messages.slice(0, at)),
        completion: asObjects(messages.slice(at)),
        label: reward >= limit,
        ...withTools(tools),
      };
    });
  },
  prompts: (rollouts, _, groupKey) =>
    firsts(rollouts)
      .slice(0, 1)
      .map(({ told, tools }) => {
        const at = told.findIndex(({ message }) => message['role'] === 'assistant');
        const messages = told.slice(0, at).map(({ message }) => message);
        return { prompt: asObjects(messages), group_key: groupKey, ...withTools(tools) };
      }),
};

const withTools = (tools: unknown[] | null) => (tools && tools.length > 0 ? { tools } : {});

/** The main histories: what is compared begins with the same prompt. */
const firsts = (rollouts: Exported[][]) => rollouts.map((histories) => histories[0]!);

const meanReward = (rollouts: Exported[][]) =>
  firsts(rollouts).reduce((sum, { reward }) => sum + reward, 0) / rollouts.length;

/** Histories with something to learn, up to the last thing the assistant says. */
function good(rollouts: Exported[][], { minReward }: ExportOptions): Exported[] {
  return rollouts
    .flat()
    .filter(({ reward }) => minReward === null || reward >= minReward)
    .map((history) => {
      const end = history.told.findLastIndex(({ message }) => message['role'] === 'assistant');
      return { ...history, told: history.told.slice(0, end + 1) };
    })
    .filter(({ told }) => told.some(({ isTrained }) => isTrained));
}

interface Pair {
  prompt: Json[];
  chosen: Json[];
  rejected: Json[];
  tools: unknown[] | null;
}

/** The best rollout against the worst, from where they begin to differ, if that is where the model speaks. */
function pairsOf(rollouts: Exported[][], { minMargin }: ExportOptions): Pair[] {
  const sorted = firsts(rollouts).toSorted((a, b) => b.reward - a.reward);
  const [best, worst] = [sorted[0]!, sorted.at(-1)!];
  if (best.reward === worst.reward || best.reward - worst.reward < minMargin) return [];
  const shared = best.told.findIndex(
    ({ message }, i) => !worst.told[i] || sortedJson(message) !== sortedJson(worst.told[i].message),
  );
  if (shared < 1 || !best.told[shared]?.isTrained || !worst.told[shared]?.isTrained) return [];
  const messages = ({ told }: Exported) => told.map(({ message }) => message);
  return [
    {
      prompt: messages(best).slice(0, shared),
      chosen: uptoAssistant(messages(best).slice(shared)),
      rejected: uptoAssistant(messages(worst).slice(shared)),
      tools: best.tools,
    },
  ];
}

const uptoAssistant = (messages: Json[]) =>
  messages.slice(0, messages.findLastIndex(({ role }) => role === 'assistant') + 1);

/** TRL wants the arguments of tool calls as objects, since it renders them itself. */
const asObjects = (messages: Json[]): Json[] =>
  messages.map((message) => {
    if (!Array.isArray(message['tool_calls'])) return message;
    const calls = message['tool_calls'].filter(isObject).map((call) => {
      const called = isObject(call['function']) ? call['function'] : {};
      return { ...call, function: { ...called, arguments: argumentsOf(called['arguments']) } };
    });
    return { ...message, tool_calls: calls };
  });

function argumentsOf(args: unknown): unknown {
  if (typeof args !== 'string') return args ?? {};
  const parsed = parsedText(args);
  return isObject(parsed) ? parsed : { value: parsed === undefined ? args : parsed };
}

const TRAJECTORIES = '{"trajectories":[';

/** The histories of each trajectory of a group, one parsed after the other. The members stand as `groupLine` has them. */
async function groupOf(line: string): Promise<{ groupKey: unknown; rollouts: Exported[][] }> {
  const turn = new Turn();
  const rollouts: Exported[][] = [];
  let end = TRAJECTORIES.length - 1;
  do {
    if (turn.isOver) await turn.next();
    const start = end + 1;
    end = skipValue(line, start);
    rollouts.push(rolloutOf(JSON.parse(line.slice(start, end))));
  } while (line[end] === ',');
  const { metadata } = JSON.parse(line.slice(end).replace('],', '{')) as { metadata: Json };
  return { groupKey: metadata['group_key'], rollouts };
}

function rolloutOf(trajectory: Json): Exported[] {
  const reward = trajectory['reward'] as number;
  return [trajectory, ...(trajectory['additional_histories'] as Json[])].map((history) => ({
    told: (history['messages_and_choices'] as Json[]).map(toldOf),
    tools: history['tools'] as unknown[] | null,
    reward,
  }));
}

function toldOf(turn: Json): Told {
  const isTrained = isObject(turn['message']);
  return { message: chatMessage(isTrained ? (turn['message'] as Json) : turn), isTrained };
}

/** The members of a message that trainers read; answers have more, such as `refusal` and `annotations`. */
function chatMessage(message: Json): Json {
  const { role, content, name, tool_calls: calls, tool_call_id: id } = message;
  return {
    role,
    content: content ?? (Array.isArray(calls) && calls.length > 0 ? null : ''),
    ...(typeof name === 'string' && { name }),
    ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls.map(openAiCall) }),
    ...(typeof id === 'string' && { tool_call_id: id }),
  };
}

function openAiCall(call: unknown): unknown {
  if (!isObject(call) || !isObject(call['function'])) return call;
  const { name, arguments: args } = call['function'];
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
  return { id: call['id'], type: 'function', function: { name, arguments: text } };
}
