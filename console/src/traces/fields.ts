import { TAG } from '../api/tags.ts';
import { wire } from '../api/wire.ts';

/** The syntax of a field's values. */
export type FieldKind =
  | 'any'
  | 'text'
  | 'status'
  | 'source'
  | 'duration'
  | 'count'
  | 'money'
  | 'time'
  | 'age'
  | 'whole'
  | 'thumbs'
  | 'words';

export interface FilterField {
  kind: FieldKind;
  /**
   * Fields of the query language. With several, a condition holds when any of them satisfies it. For `whole`, the value
   * replaces `*` in the path.
   */
  paths: string[];
  /** Replaces the paths: a value that every call has. */
  count?: object;
}

const field = (kind: FieldKind, ...paths: string[]): FilterField => ({ kind, paths });

/** A name, escaped for use as one member of a path. */
export const escaped = (name: string): string => name.replaceAll(/[.\\[]/g, String.raw`\$&`);

/** Short names of fields (docs/filters.md). */
export const shortFields = (): Record<string, FilterField> => {
  const derived = `summary.${wire.summary}`;
  return {
    op: field('text', 'op_name'),
    name: field('text', `${derived}.trace_name`),
    status: field('status', `${derived}.status`),
    latency: field('duration', `${derived}.latency_ms`),
    tokens: field('count', `${derived}.total_tokens`),
    tokens_in: field('count', `${derived}.input_tokens`),
    tokens_out: field('count', `${derived}.output_tokens`),
    cost: field('money', `${derived}.total_cost`),
    model: field('whole', 'summary.usage.*'),
    user: field('text', wire.userId),
    end_user: field('text', `${derived}.end_user`),
    thread: field('text', 'thread_id'),
    trace: field('text', 'trace_id'),
    run: field('text', wire.runId),
    age: field('age', 'started_at'),
    started: field('time', 'started_at'),
    ended: field('time', 'ended_at'),
    text: field('words', 'inputs', 'output', 'exception'),
    exception: field('text', 'exception'),
    thumbs: field('thumbs', `feedback.[${wire.feedback}.reaction.1].payload.emoji`),
    tag: field('whole', `feedback.${escaped(TAG)}*.payload`),
    note: field('text', `feedback.[${wire.feedback}.note.1].payload.note`),
    source: field('source', 'source'),
  };
};

const columns = (): Record<string, FieldKind> => ({
  ...Object.fromEntries(
    ['id', 'op_name', 'display_name', 'trace_id', 'parent_id', 'thread_id', 'turn_id'].map(
      (name) => [name, 'text' as const],
    ),
  ),
  [wire.userId]: 'text',
  [wire.runId]: 'text',
  [wire.runId.replace(/id$/, 'step')]: 'any',
  [wire.runId.replace(/id$/, 'step_end')]: 'any',
  started_at: 'time',
  ended_at: 'time',
  deleted_at: 'time',
  operation: 'text',
  'annotation_queue_items.queue_id': 'text',
});

const DOCUMENTS = ['inputs', 'output', 'attributes', 'summary'];

/** The field of a name; undefined for an unknown name. */
export function fieldNamed(name: string): FilterField | undefined {
  const short = shortFields();
  if (Object.hasOwn(short, name)) return short[name];
  const known = columns();
  if (Object.hasOwn(known, name)) return field(known[name]!, name);
  const [root] = name.split('.', 1) as [string];
  if (DOCUMENTS.includes(root) || name.startsWith('feedback.')) return field('any', name);
  return scoreNamed(name);
}

/** Resolves `score.<name>`, with an optional path into it: the latest value of a person or a scorer. */
function scoreNamed(name: string): FilterField | undefined {
  const [, score, path = ''] = /^score\.(\[[^\]]+\]|[^.]+)(\..+)?$/.exec(name) ?? [];
  if (score === undefined) return undefined;
  const plain = score.replace(/^\[(.*)\]$/, '$1');
  const said = (kind: string, member: string) =>
    `feedback.[${wire.feedback}.${kind}.${plain}].payload.${member}${path}`;
  return field('any', said('annotation', 'value'), said('runnable', 'output'));
}

/** The known name that is most similar to a wrong one; undefined when none is similar. */
export function nearestName(name: string): string | undefined {
  const names = [...Object.keys(shortFields()), ...Object.keys(columns()), ...DOCUMENTS];
  const [root = '', ...rest] = name.split('.');
  const [best] = names
    .map((known) => ({ known, steps: distance(root.toLowerCase(), known) }))
    .filter(({ known, steps }) => steps <= Math.max(1, Math.floor(known.length / 3)))
    .toSorted((a, b) => a.steps - b.steps);
  return best && [best.known, ...(DOCUMENTS.includes(best.known) ? rest : [])].join('.');
}

/** The edit distance (Levenshtein); infinite for names longer than any known one. */
function distance(a: string, b: string): number {
  if (a.length > 40) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
