import { textsIn } from '../../../platform/json/json-text.js';
import { argumentsText, type ExportedRollout, type ExportedMessage } from './exported-messages.js';

/*
 * Prints trajectories as traces of the verifiers library, version 1, which prime-rl trains. Each history is a path of
 * the graph. The tokens of a path are the tokens of its nodes, one after the other. The node of a choice contains the
 * tokens that were sent since the last choice, and the tokens that it sampled.
 */

/** Version of the schema, and the finish reasons that it accepts. */
const VERSION = 1;
const REASONS = ['stop', 'length', 'tool_calls'];

/** Returns a trace as JSON text. `isExact` is false when tokens are missing; the trace then contains no tokens. */
export function traceText(
  rollout: ExportedRollout,
  key: string,
): { text: string; isExact: boolean } {
  const isExact = rollout.histories.every(({ told }) => told.every(isTokenExact));
  const start = Date.parse(JSON.parse(rollout.startTime) as string) / 1000;
  const nodes: string[] = [];
  const calls: string[] = [];
  for (const { told, tools } of rollout.histories) {
    let length = 0;
    for (const [i, one] of told.entries()) {
      const tokens = isExact && one.isTrained ? readTokens(one, length) : null;
      length = tokens?.length ?? length;
      if (one.isTrained)
        calls.push(`{"node":${nodes.length},"finish_reason":${finishReason(one)}}`);
      const parent = i === 0 ? `null${toolsMember(tools)}` : nodes.length - 1;
      nodes.push(
        `{"parent":${parent},"message":${messageText(one)},"sampled":${one.isTrained},"timestamp":${start}${tokens?.text ?? ''}}`,
      );
    }
  }
  const text = `{${[
    `"version":${VERSION}`,
    `"id":${JSON.stringify(traceId(rollout))}`,
    `"task":{"type":"Task","data":{"id":${key}},"key":${key}}`,
    `"agent":{"config":{}}`,
    `"nodes":[${nodes.join(',')}]`,
    `"calls":[${calls.join(',')}]`,
    `"rewards":{"reward":{"score":${rollout.reward}}}`,
    `"metrics":${rollout.metrics}`,
    `"info":${JSON.stringify({ unit_id: rollout.unitId, call_id: rollout.callId })}`,
    `"is_completed":true`,
    `"ok":true`,
    `"timing":{"start":${start}}`,
  ].join(',')}}`;
  return { text, isExact };
}

const traceId = ({ unitId, scoredId, choice }: ExportedRollout): string =>
  [unitId, scoredId, choice || null].filter((part) => part !== null).join('/');

const TOKENS = {
  token_ids: true,
  prompt_token_ids: true,
  logprobs: { content: [{ logprob: true }] },
} as const;

function isTokenExact({ isTrained, text }: ExportedMessage): boolean {
  if (!isTrained) return true;
  const { token_ids: sampled, prompt_token_ids: sent, logprobs } = textsIn(text, TOKENS)!;
  return sampled?.startsWith('[') === true && sent?.startsWith('[') === true && !!logprobs?.content;
}

/** Returns the tokens that a choice adds to its path. `before` is the number of tokens that the path has already. */
function readTokens({ text }: ExportedMessage, before: number): { text: string; length: number } {
  const { token_ids, prompt_token_ids, logprobs } = textsIn(text, TOKENS)!;
  const sampled = JSON.parse(token_ids!) as number[];
  const sent = JSON.parse(prompt_token_ids!) as number[];
  const added = sent.slice(before);
  const mask = [...added.map(() => false), ...sampled.map(() => true)];
  const values = (logprobs!.content as { logprob?: string }[]).map(({ logprob }) => logprob ?? '0');
  return {
    text: `,"token_ids":${JSON.stringify([...added, ...sampled])},"mask":${JSON.stringify(mask)},"logprobs":[${values.join(',')}]`,
    length: sent.length + sampled.length,
  };
}

function finishReason({ text }: ExportedMessage): string {
  const reason = textsIn(text, { finish_reason: true })?.finish_reason ?? 'null';
  return REASONS.some((known) => reason === `"${known}"`) ? reason : 'null';
}

function messageText(told: ExportedMessage): string {
  const { role, content, name, answers } = told;
  if (role === 'assistant') return assistantText(told);
  const body = content ?? '""';
  if (role === 'tool' || role === 'function')
    return `{"role":"tool","tool_call_id":${answers ?? '""'},"content":${body}${name === null ? '' : `,"name":${name}`}}`;
  return `{"role":"${role === 'user' ? 'user' : 'system'}","content":${body}}`;
}

function assistantText({ content, calls, reasoning }: ExportedMessage): string {
  const isList = content?.startsWith('[') ?? false;
  return `{${[
    `"role":"assistant"`,
    `"content":${isList ? JSON.stringify(plainText(content!)) : content}`,
    ...(reasoning === null ? [] : [`"reasoning_content":${reasoning}`]),
    ...(calls.length > 0 ? [`"tool_calls":[${calls.map(callText).join(',')}]`] : []),
  ].join(',')}}`;
}

const callText = ({ id, name, args }: ExportedMessage['calls'][number]) =>
  `{"id":${id},"name":${name},"arguments":${argumentsText(args)}}`;

const plainText = (content: string): string =>
  (JSON.parse(content) as { text?: unknown }[])
    .map((part) => (typeof part?.text === 'string' ? part.text : ''))
    .join('');

/** Prints tools for the first message of a path. The schema has no `function` level around them. */
function toolsMember(tools: string | null): string {
  if (tools === null) return '';
  const found = textsIn(`{"tools":${tools}}`, {
    tools: [{ function: { name: true, description: true, parameters: true, strict: true } }],
  });
  const flat = (found?.tools ?? []).flatMap((tool) => {
    const called = (tool as { function?: Record<string, string> } | undefined)?.function;
    if (!called?.['name']) return [];
    const members = Object.entries(called).filter(([, value]) => value !== 'null');
    return [`{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`];
  });
  return `,"tools":[${flat.join(',')}]`;
}
