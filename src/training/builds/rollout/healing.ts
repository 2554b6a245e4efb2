import { isObject } from '../../../platform/json/json-object.js';
import { memberTexts, objectText } from '../../../platform/json/json-text.js';
import { readHistoryMessage } from './history-messages.js';
import type { LlmCall } from './llm-calls.js';
import type { Choice, RecordedJson } from './recorded-call.js';

/*
 * Some clients record the arguments of a tool call as "", and send the real ones with the next request. This file
 * restores the arguments from that request.
 */

const callPlace = (position: number, id: string) => `${position} ${id}`;

/**
 * Restores empty arguments of tool calls in place. Returns the ids of the calls that were changed. Visits each
 * message once.
 */
export function healArguments(calls: readonly LlmCall[]): Set<string> {
  const healed = new Set<string>();
  /** Arguments in the nearest later request, keyed by `callPlace`. */
  const later = new Map<string, string>();
  for (const call of calls.toReversed()) {
    const at = call.messages.length;
    for (const [i, choice] of call.choices.entries()) {
      const found = healedChoice(choice, (id) => later.get(callPlace(at, id)));
      if (!found) continue;
      call.choices[i] = found;
      healed.add(call.id);
    }
    for (const [position, { role, toolCalls, toolArguments }] of call.messages.entries())
      if (role === 'assistant')
        for (const [k, id] of toolCalls.entries())
          if (toolArguments[k]) later.set(callPlace(position, id), toolArguments[k]);
  }
  return healed;
}

function healedChoice(choice: Choice, said: (id: string) => string | undefined): Choice | null {
  const { toolCalls, toolArguments } = choice.turn;
  const args = toolArguments.map((given, i) => (given === '' ? said(toolCalls[i]!) : undefined));
  if (args.every((one) => one === undefined)) return null;
  const message = healedMessage(choice.turn.text, args);
  return {
    ...choice,
    text: withMember(choice.text, 'message', message),
    turn: readHistoryMessage(JSON.parse(message) as RecordedJson, message),
  };
}

function healedMessage(message: string, args: (string | undefined)[]): string {
  const { tool_calls } = JSON.parse(message) as { tool_calls: unknown[] };
  let i = 0;
  const healed = tool_calls.map((call) => {
    if (!isObject(call)) return call;
    const given = args[i++];
    if (given === undefined) return call;
    const called = isObject(call['function']) ? call['function'] : undefined;
    return called
      ? { ...call, function: { ...called, arguments: given } }
      : { ...call, arguments: given };
  });
  return withMember(message, 'tool_calls', JSON.stringify(healed));
}

/** Replaces a member in the text of an object. The other members keep their texts. */
const withMember = (object: string, name: string, value: string): string =>
  objectText(memberTexts(object).set(name, value));
