import type { JsonBatch } from '../../../platform/http/json-rows.js';
import { skipValue } from '../../../platform/json/json-grammar.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import {
  type ExportedHistory,
  type ExportedRollout,
  type MessageForm,
  messageKeys,
  messageText,
  readExportedRollout,
  type ExportedMessage,
} from './exported-messages.js';
import type { LintCode } from '../recipe/recipe.dto.js';
import { traceText } from './verifiers-traces.js';

export const FORMATS = [
  'art',
  'openai-sft',
  'openai-dpo',
  'openai-rft',
  'trl-sft',
  'trl-dpo',
  'trl-kto',
  'tinker-preference',
  'verifiers',
  'prompts',
] as const;
export type ExportFormat = (typeof FORMATS)[number];
/**
 * The formats that need a conversion; `art` streams the groups as they are stored. `sft` makes the rows of our own
 * training jobs.
 */
export type ConvertedFormat = Exclude<ExportFormat, 'art'> | 'sft';

export interface ExportOptions {
  minReward: number | null;
  minMargin: number;
  /** Receives the lint of what is left out or lost, and the id of the call. */
  note?: (code: LintCode, call: string) => void;
  /** Receives the label of each row for KTO. */
  label?: (isGood: boolean) => void;
}

interface ExportedGroup {
  rollouts: ExportedRollout[];
  /** The group key as JSON text. */
  key: string;
}

export async function* exportRows(
  format: ConvertedFormat,
  groups: AsyncIterable<Buffer>,
  options: ExportOptions,
): AsyncGenerator<Buffer> {
  const turn = new EventLoopTurn();
  for await (const line of groups) {
    const group = await readExportedGroup(line.toString('utf8'));
    for (const row of WRITERS[format](group, options)) {
      if (turn.isOver) await turn.next();
      yield Buffer.from(row);
    }
  }
}

type Writer = (group: ExportedGroup, options: ExportOptions) => Iterable<string>;

const OPENAI: MessageForm = { args: 'text', reasoning: null };
const OWN_FORM: MessageForm = { args: 'text', reasoning: 'reasoning_content' };
const TRL: MessageForm = { args: 'object', reasoning: 'reasoning_content' };
const TINKER: MessageForm = { args: 'text', reasoning: 'part' };

const WRITERS: Record<ConvertedFormat, Writer> = {
  *'openai-sft'({ rollouts }, options) {
    for (const [history, rollout] of trainableHistories(rollouts, options)) {
      noteReasoning(history.told, rollout, options);
      yield weightedText(history, OPENAI);
    }
  },
  *sft({ rollouts }, options) {
    for (const [history] of trainableHistories(rollouts, options))
      yield weightedText(history, OWN_FORM);
  },
  *'openai-dpo'({ rollouts }, options) {
    for (const { prompt, chosen, rejected, tools, best } of makePairs(rollouts, options)) {
      noteReasoning([chosen, rejected], best, options);
      const parallel = tools === null ? '' : `${withTools(tools)},"parallel_tool_calls":true`;
      yield `{"input":{"messages":${listText(prompt, OPENAI)}${parallel}},"preferred_output":${listText([chosen], OPENAI)},"non_preferred_output":${listText([rejected], OPENAI)}}`;
    }
  },
  /** Writes a prompt, and the best answer to it for a grader. */
  *'openai-rft'({ rollouts, key }, { minReward }) {
    const [best] = rollouts.toSorted((a, b) => b.reward - a.reward);
    const { told, tools } = best!.histories[0]!;
    const prompt = readPrompt(told);
    if (prompt.at(-1)?.role !== 'user') return;
    const isGood = minReward === null ? best!.reward > 0 : best!.reward >= minReward;
    const answer = isGood ? told.findLast(({ isTrained }) => isTrained)?.content : null;
    yield `{"messages":${listText(prompt, OPENAI)}${withTools(tools)},"group_key":${key},"reference_answer":${answer ?? 'null'},"reference_reward":${best!.reward}}`;
  },
  /** Writes one turn of the assistant as the completion: TRL trains everything in it. */
  *'trl-sft'({ rollouts }, options) {
    for (const [{ told, tools }] of trainableHistories(rollouts, options))
      for (const [prompt, turn] of trainedTurns(told))
        yield `{"prompt":${prompt(TRL)},"completion":${listText([turn], TRL)}${withTools(tools)}}`;
  },
  *'trl-dpo'({ rollouts }, options) {
    for (const { prompt, chosen, rejected, tools } of makePairs(rollouts, options))
      yield `{"prompt":${listText(prompt, TRL)},"chosen":${listText([chosen], TRL)},"rejected":${listText([rejected], TRL)}${withTools(tools)}}`;
  },
  *'trl-kto'({ rollouts }, options) {
    for (const { histories, reward, callId } of rollouts) {
      const label = ktoLabel(reward, rollouts.length, options);
      if (label === null) options.note?.('kto_unsigned', callId);
      else
        for (const { told, tools } of histories)
          for (const [prompt, turn] of trainedTurns(told)) {
            options.label?.(label);
            yield `{"prompt":${prompt(TRL)},"completion":${listText([turn], TRL)},"label":${label}${withTools(tools)}}`;
          }
    }
  },
  *'tinker-preference'({ rollouts }, options) {
    for (const { prompt, chosen, rejected } of makePairs(rollouts, options))
      yield `{"comparison":{"prompt_conversation":${listText(prompt, TINKER)},"completion_A":${listText([chosen], TINKER)},"completion_B":${listText([rejected], TINKER)}},"label":"A"}`;
  },
  *verifiers({ rollouts, key }, { note }) {
    for (const rollout of rollouts) {
      const { text, isExact } = traceText(rollout, key);
      if (!isExact) note?.('token_inexact', rollout.callId);
      yield text;
    }
  },
  *prompts({ rollouts, key }) {
    const { told, tools } = rollouts[0]!.histories[0]!;
    yield `{"prompt":${listText(readPrompt(told), TRL)},"group_key":${key}${withTools(tools)}}`;
  },
};

const listText = (told: readonly ExportedMessage[], form: MessageForm): string =>
  `[${told.map((one) => messageText(one, form)).join(',')}]`;

/** Prints a conversation. Turns of the assistant that are not trained get weight 0. */
function weightedText({ told, tools }: ExportedHistory, form: MessageForm): string {
  const messages = told.map((one) =>
    messageText(one, form, one.role === 'assistant' && !one.isTrained ? ',"weight":0' : ''),
  );
  return `{"messages":[${messages.join(',')}]${withTools(tools)}}`;
}

const withTools = (tools: string | null) => (tools === null ? '' : `,"tools":${tools}`);

function noteReasoning(
  told: readonly ExportedMessage[],
  { callId }: ExportedRollout,
  { note }: ExportOptions,
): void {
  if (told.some(({ isTrained, reasoning }) => isTrained && reasoning !== null))
    note?.('reasoning_lost', callId);
}

function readPrompt(told: ExportedMessage[]): ExportedMessage[] {
  const end = told.findIndex(({ role }) => role === 'assistant');
  return end < 0 ? told : told.slice(0, end);
}

/** Returns the histories with something to train, each up to the last message of the assistant. */
function trainableHistories(
  rollouts: ExportedRollout[],
  { minReward }: ExportOptions,
): [ExportedHistory, ExportedRollout][] {
  return rollouts
    .filter(({ reward }) => minReward === null || reward >= minReward)
    .flatMap((rollout) =>
      rollout.histories.map((history): [ExportedHistory, ExportedRollout] => {
        const end = history.told.findLastIndex(({ role }) => role === 'assistant');
        return [{ ...history, told: history.told.slice(0, end + 1) }, rollout];
      }),
    )
    .filter(([{ told }]) => told.some(({ isTrained }) => isTrained));
}

/**
 * Yields each choice to train, with the messages before it. The prompts together are as long as the recorded
 * requests.
 */
function* trainedTurns(
  told: ExportedMessage[],
): Generator<[prompt: (form: MessageForm) => string, turn: ExportedMessage]> {
  let text = '';
  let form: MessageForm | undefined;
  let until = 0;
  const promptUpTo = (end: number) => (wanted: MessageForm) => {
    if (form !== wanted) [text, form, until] = ['', wanted, 0];
    for (; until < end; until++)
      text += `${until > 0 ? ',' : ''}${messageText(told[until]!, wanted)}`;
    return `[${text}]`;
  };
  for (const [i, turn] of told.entries()) if (turn.isTrained && i > 0) yield [promptUpTo(i), turn];
}

/**
 * Returns the label of a reward. Null when the reward has no clear meaning: a 0 in a group of one, without a
 * threshold.
 */
function ktoLabel(reward: number, members: number, { minReward }: ExportOptions): boolean | null {
  if (minReward !== null) return reward >= minReward;
  return reward === 0 && members === 1 ? null : reward > 0;
}

interface PreferencePair {
  prompt: ExportedMessage[];
  chosen: ExportedMessage;
  rejected: ExportedMessage;
  tools: string | null;
  best: ExportedRollout;
}

/**
 * Pairs the best rollout with the worst one at the message where they begin to differ, if both messages are trained.
 */
function makePairs(
  rollouts: ExportedRollout[],
  { minMargin, note }: ExportOptions,
): PreferencePair[] {
  const sorted = rollouts.toSorted((a, b) => b.reward - a.reward);
  const [best, worst] = [sorted[0]!, sorted.at(-1)!];
  if (best.reward === worst.reward || best.reward - worst.reward < minMargin) {
    note?.('dpo_tie', rollouts[0]!.callId);
    return [];
  }
  const [good, bad] = [best.histories[0]!, worst.histories[0]!]; // both begin with the same prompt
  const [said, other] = [messageKeys(good.told), messageKeys(bad.told)];
  const shared = said.findIndex((meaning, i) => meaning !== other[i]);
  const [chosen, rejected] = [good.told[shared], bad.told[shared]];
  if (shared < 1 || !chosen?.isTrained || !rejected?.isTrained) {
    note?.('dpo_same', best.callId);
    return [];
  }
  return [{ prompt: good.told.slice(0, shared), chosen, rejected, tools: good.tools, best }];
}

const TRAJECTORIES = '{"trajectories":[';

/** Reads the trajectories of a group one after the other. Relies on the order of members that `groupLine` writes. */
async function readExportedGroup(line: string): Promise<ExportedGroup> {
  const turn = new EventLoopTurn();
  const rollouts: ExportedRollout[] = [];
  let end = TRAJECTORIES.length - 1;
  do {
    if (turn.isOver) await turn.next();
    const start = end + 1;
    end = skipValue(line, start);
    rollouts.push(readExportedRollout(line.slice(start, end)));
  } while (line[end] === ',');
  const { metadata } = JSON.parse(line.slice(end).replace('],', '{')) as {
    metadata: { group_key: string };
  };
  return { rollouts, key: JSON.stringify(metadata.group_key) };
}

const METADATA = '],"metadata":';
const BATCH_BYTES = 512 * 1024;
const SPARE_BYTE = Buffer.from(' ');

/**
 * Yields the trajectories of groups as rows, which also name their group. Relies on the order of members that
 * `groupLine` writes, and copies the bytes of a trajectory as they are.
 */
export async function* trajectoryRows(groups: AsyncIterable<Buffer>): AsyncGenerator<JsonBatch> {
  const turn = new EventLoopTurn();
  let [parts, ends, size]: [Buffer[], number[], number] = [[], [], 0];
  let group = 0;
  for await (const line of groups) {
    const text = line.toString('latin1'); // one character a byte
    const metadata = line.toString(
      'utf8',
      line.lastIndexOf(METADATA) + METADATA.length + 1,
      line.length - 2,
    );
    let end = TRAJECTORIES.length - 1;
    for (let i = 0; i === 0 || text[end] === ','; i++) {
      if (turn.isOver) await turn.next();
      const start = end + 1;
      end = skipValue(text, start);
      const head = `{"group_index":${group},"trajectory_index":${i},${metadata},`;
      const row = [Buffer.from(head), line.subarray(start + 1, end), SPARE_BYTE];
      for (const part of row) size += part.length;
      parts.push(...row);
      ends.push(size - 1);
      if (size < BATCH_BYTES) continue;
      yield { bytes: Buffer.concat(parts, size), ends };
      [parts, ends, size] = [[], [], 0];
    }
    group++;
  }
  if (size > 0) yield { bytes: Buffer.concat(parts, size), ends };
}
