import { createHash } from 'node:crypto';
import { Cursor, skipValue } from '../../../platform/json/json-grammar.js';
import type { TextRange } from '../../../platform/json/json-text.js';
import { parseBounded } from '../../../platform/json/json-weight.js';
import { isObject, textOrNull as text } from '../../../platform/json/json-object.js';

/*
 * Chat messages in two forms. The stored text is copied into trajectories. The canonical form contains what a model
 * reads, and is used to compare messages: clients add and drop members such as `refusal` when they send an answer
 * back.
 */

/** A message in OpenAI's format, and the values by which messages are compared. */
export interface HistoryMessage {
  text: string;
  role: string;
  /** Text that is equal for messages with the same meaning. */
  canonical: string;
  /** Ids of the tool calls of the message; `answers` is the id of the tool call that it answers. */
  toolCalls: string[];
  answers: string | null;
  /** Arguments of the tool calls; null when they are not strings. */
  toolArguments: (string | null)[];
}

type Json = Record<string, unknown>;

/**
 * Reads a message in OpenAI's format. `json` is its JSON text. `idKey` maps an id of a tool call to the value that is
 * compared.
 */
export function readHistoryMessage(
  message: Json,
  json: string,
  idKey = (id: string) => id,
): HistoryMessage {
  const calls = readToolCalls(message);
  const role = text(message['role']) ?? '';
  return {
    text: json,
    role,
    canonical: JSON.stringify([
      role,
      text(message['name']) ?? '',
      contentKey(message['content']),
      calls.map(({ id, name, args }) => [idKey(id), name, argumentsKey(args)]),
      typeof message['tool_call_id'] === 'string' ? idKey(message['tool_call_id']) : '',
    ]),
    toolCalls: calls.map(({ id }) => id),
    answers: role === 'tool' ? (text(message['tool_call_id']) ?? '') : null,
    toolArguments: calls.map(({ args }) => text(args)),
  };
}

function readToolCalls({ tool_calls }: Json): { id: string; name: string; args: unknown }[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.filter(isObject).map((call) => {
    const called = isObject(call['function']) ? call['function'] : call;
    return {
      id: text(call['id']) ?? '',
      name: text(called['name']) ?? '',
      args: called['arguments'],
    };
  });
}

/** Returns the same key for a list of text parts and for one text. */
function contentKey(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? '';
  const texts = content.map((part) =>
    isObject(part) && (part['type'] ?? 'text') === 'text' ? text(part['text']) : text(part),
  );
  return texts.includes(null) ? sortedJson(content) : texts.join('');
}

/** Returns the same key for arguments that a client has printed again. */
function argumentsKey(args: unknown): string {
  if (typeof args !== 'string') return sortedJson(args ?? null);
  const parsed = parsedText(args);
  return parsed === undefined ? args : sortedJson(parsed);
}

/**
 * Parses a JSON text that is a string inside a document. Returns undefined when the text is not JSON, is nested
 * deeper than a document may be, or would take far more memory than its text.
 */
export function parsedText(json: string): unknown {
  try {
    const value = parseBounded(json);
    skipValue(json, 0); // throws when the nesting is too deep
    return value;
  } catch {
    return undefined;
  }
}

export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isObject(part)
      ? Object.fromEntries(
          Object.keys(part)
            .toSorted()
            .map((key) => [key, part[key]]),
        )
      : part,
  );
}

export const hashParts = (parts: Iterable<string>): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('base64');
};

/** Members that weave adds to objects of Python classes. */
const PYTHON = ['_type', '_class_name', '_bases'];
const IS_PYTHON = /"_(?:type|class_name|bases)"/;

/**
 * Returns the text on one line, without the members that weave adds to objects of Python classes. Returns a copy: a
 * slice would keep the whole document in memory.
 */
export function stripPythonMembers(json: string): string {
  const oneLine = /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]/g, ' ') : json;
  const cuts = IS_PYTHON.test(oneLine) ? new PythonMembers(oneLine).spans : [];
  const kept: string[] = [];
  let end = 0;
  for (const [from, to] of cuts.toSorted(([a], [b]) => a - b)) {
    if (from > end) kept.push(oneLine.slice(end, from));
    end = Math.max(end, to);
  }
  kept.push(oneLine.slice(end));
  return Buffer.from(kept.join('')).toString('utf8');
}

/** Finds the spans of these members, each with one comma. Visits each value once, at any depth. */
class PythonMembers {
  readonly spans: TextRange[] = [];

  constructor(text: string) {
    this.skip(new Cursor(text, 0));
  }

  private skip(cursor: Cursor): void {
    if (cursor.isContainer) cursor.at = this.itemsEnd(cursor.inside());
    else cursor.skip();
  }

  private itemsEnd(items: Cursor): number {
    const found: TextRange[] = [];
    let isPython = false;
    let kept = items.at + 1;
    /** Span of the last member to remove. When another member follows, the cut goes up to it and includes the comma. */
    let cut: TextRange | undefined;
    while (items.next()) {
      const { key, keyAt } = items;
      if (cut) found.push([cut[0], keyAt]);
      this.skip(items);
      cut = PYTHON.includes(key!) ? [keyAt, items.at] : undefined;
      if (!cut) kept = items.at;
      else isPython ||= key !== '_type';
    }
    if (cut) found.push([kept, cut[1]]);
    if (isPython) for (const span of found) this.spans.push(span);
    return items.at;
  }
}
