import type { CallRow } from '../api/calls.ts';
import { derivedSummary, callUser } from '../api/calls.ts';
import { fieldNamed, shortFields } from './fields.ts';
import { seenTags } from '../collect/tags.ts';
import { term } from './filter.ts';
import { CHOICES } from './filter-values.ts';

export { seenTags };

const MAX_SUGGESTIONS = 12;
const MOST_PATHS = 200;
const MAX_DEPTH = 4;

export interface Suggestion {
  text: string;
  about: string;
}

interface CaretPlace {
  /** Offset in the text that a suggestion replaces from. */
  from: number;
  field?: string;
  operator?: string;
  /** The typed beginning of the field, or of the value if an operator precedes it. */
  begun: string;
}

const VALUE =
  /((?:[^\s=!<>~"()[]|\[[^\]]*\])+)\s*(!=|>=|<=|!~|=|>|<|~)\s*("(?:[^"\\]|\\.)*|[^\s"]*)$/;
const WORD = /(?:[^\s=!<>~"()[]|\[[^\]]*\]?)*$/;

/** Finds the field or the value at the caret. */
export function placeAt(text: string, caret: number): CaretPlace {
  const before = text.slice(0, caret);
  const value = VALUE.exec(before);
  if (value) {
    const [, field, operator, begun] = value as unknown as [string, string, string, string];
    return { from: value.index, field, operator, begun: begun.replace(/^"/, '') };
  }
  const word = WORD.exec(before)!;
  return { from: word.index, begun: word[0] };
}

const WORDS: Suggestion[] = [
  { text: 'OR', about: 'One of the two conditions is true' },
  { text: 'NOT', about: 'The condition is not true' },
  { text: 'AND', about: 'Both conditions are true (the default)' },
  { text: 'any(', about: 'A call of the trace' },
  { text: 'parent(', about: 'The call above' },
  { text: 'under(', about: 'A call further above' },
  { text: 'first(', about: 'The first call of a model' },
  { text: 'children', about: 'Calls below: children>5' },
];

const FIELD_HINTS: Record<string, string> = {
  op: 'Op',
  name: 'Name in the list',
  status: 'success, error, descendant_error, running',
  latency: '500ms, 1.5s, 2m',
  tokens: 'Input and output: 800, 10k',
  tokens_in: 'Including cached tokens: 800, 10k',
  tokens_out: '800, 10k',
  cost: 'Without the calls below: 0.5, $0.5',
  model: 'Exact name',
  user: 'User of the key that sent the call',
  end_user: 'End user of the application',
  thread: 'Id of a thread',
  trace: 'Id of a trace',
  run: 'Id of a run',
  age: 'Since the start: 30m, 2h, 7d',
  started: '2026-11-20, 2026-11-20T10:00',
  ended: '2026-11-20, 2026-11-20T10:00',
  text: 'Inputs, output and exception',
  exception: 'Text of the exception',
  thumbs: 'up, down',
  tag: 'Exact tag',
  note: 'Latest note',
  source: 'production, evaluation, playground',
};

const OPERATORS: Partial<Record<string, string[]>> = {
  status: ['=', '!='],
  source: ['=', '!='],
  whole: ['=', '!='],
  thumbs: ['='],
  age: ['<', '>'],
  duration: ['>', '<', '>=', '<='],
  count: ['>', '<', '>=', '<='],
  money: ['>', '<', '>=', '<='],
  time: ['>=', '<'],
  words: ['~', '!~'],
};
const EXAMPLES: Partial<Record<string, readonly string[]>> = {
  ...CHOICES,
  thumbs: ['up', 'down'],
  age: ['15m', '1h', '24h', '7d'],
  duration: ['500ms', '1s', '10s', '1m'],
  count: ['1k', '10k', '100k'],
  money: ['0.01', '0.1', '1'],
};

/** Values on the page that suggestions are made from. */
export interface SeenValues {
  rows: CallRow[];
  /** Some rows with their documents. */
  documents: CallRow[];
  tags: string[];
}

/** Suggests names of fields, then operators, then values from the page. */
export function suggestions(
  { field, operator, begun }: CaretPlace,
  { rows, documents, tags }: SeenValues,
): Suggestion[] {
  const text = begun.toLowerCase();
  if (field !== undefined)
    return suggestValues(field, { rows, tags })
      .filter((value) => value.toLowerCase().includes(text))
      .slice(0, MAX_SUGGESTIONS)
      .map((value) => ({ text: term(field, operator!, value), about: '' }));
  const fields = suggestFields(documents);
  const isWhole = fields.some((one) => one.text === begun);
  const operators = isWhole
    ? (OPERATORS[fieldNamed(begun)?.kind ?? 'any'] ?? ['=', '~', '!='])
    : [];
  const words = begun !== '' && begun === begun.toUpperCase() ? WORDS : [];
  return [
    ...operators.map((one) => ({ text: begun + one, about: '' })),
    ...[...words, ...fields].filter(
      (one) => one.text !== begun && one.text.toLowerCase().includes(text),
    ),
  ].slice(0, MAX_SUGGESTIONS);
}

function suggestFields(documents: CallRow[]): Suggestion[] {
  const paths = new Set<string>();
  for (const call of documents)
    for (const name of ['inputs', 'output', 'attributes', 'summary'] as const)
      collect(call[name], name, 1, paths);
  return [
    ...Object.keys(shortFields()).map((text) => ({ text, about: FIELD_HINTS[text] ?? '' })),
    ...[...paths].map((text) => ({ text, about: '' })),
  ];
}

function collect(value: unknown, path: string, depth: number, paths: Set<string>): void {
  if (typeof value !== 'object' || value === null) {
    paths.add(path);
    return;
  }
  if (depth > MAX_DEPTH) return;
  for (const [name, member] of Object.entries(value).slice(0, 50)) {
    if (paths.size >= MOST_PATHS) return;
    collect(member, `${path}.${stepOf(name)}`, depth + 1, paths);
  }
}

/** A member of a path, in brackets when it contains special characters. */
const stepOf = (name: string) =>
  /[\s=!<>~"()[]/.test(name) && !name.includes(']')
    ? `[${name}]`
    : name.replaceAll(/[.\\]/g, String.raw`\$&`);

function suggestValues(
  name: string,
  { rows, tags }: Omit<SeenValues, 'documents'>,
): readonly string[] {
  const read: Record<string, (row: CallRow) => (string | null | undefined)[]> = {
    op: (row) => [row.op_name],
    name: (row) => [derivedSummary(row).trace_name],
    user: (row) => [callUser(row)],
    thread: (row) => [row.thread_id],
    model: (row) => Object.keys(row.summary?.['usage'] ?? {}),
  };
  if (name === 'tag') return tags;
  const examples = EXAMPLES[fieldNamed(name)?.kind ?? ''];
  if (examples) return examples;
  const values = rows.flatMap((row) => read[name]?.(row) ?? []);
  return [...new Set(values.filter((value) => typeof value === 'string'))].toSorted();
}
