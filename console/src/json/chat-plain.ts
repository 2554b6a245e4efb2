import { type Conversation, type Piece, type Said } from './chat.ts';

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ASKED = [
  'question',
  'query',
  'prompt',
  'input',
  'message',
  'user_input',
  'text',
  'content',
  'q',
];
const ANSWERED = ['answer', 'output', 'response', 'result', 'message', 'reply', 'text', 'content'];

/**
 * What a call was asked and what it answered, where both are plain texts of a name that says so; undefined where neither is. For
 * calls that are no chat.
 */
export function readPlain(
  inputs: unknown,
  output: unknown,
  exception: string | null = null,
): Conversation | undefined {
  const asked = plainText(inputs, ASKED);
  const answered = plainText(output, ANSWERED);
  if (asked === undefined && answered === undefined) return undefined;
  const failed = exception === null ? [] : [said('exception', 'exception', exception)];
  return {
    said: [
      ...(asked === undefined ? documentOf('in', inputs) : [said('user', 'text', asked)]),
      ...(answered === undefined
        ? documentOf('out', output)
        : [said('assistant', 'text', answered)]),
      ...failed,
    ],
    others: [],
  };
}

/** A document as JSON; nothing where there is none. */
function documentOf(role: string, value: unknown): Said[] {
  const isNone =
    value === null || value === undefined || (isObject(value) && Object.keys(value).length === 0);
  return isNone ? [] : [said(role, 'data', JSON.stringify(value))];
}

const said = (role: string, kind: Piece['kind'], text: string): Said => ({
  role,
  pieces: [{ kind, name: '', text }],
});

function plainText(document: unknown, names: readonly string[]): string | undefined {
  if (typeof document === 'string') return document;
  if (!isObject(document)) return undefined;
  const name = names.find((one) => typeof document[one] === 'string' && document[one] !== '');
  return name === undefined ? undefined : (document[name] as string);
}
