import { invalidRequest } from '../../platform/errors.js';
import { textsAt, type PathStep } from '../../platform/json/json-paths.js';
import { nameBudget, pathSteps, unknownField } from '../../platform/query/columns.js';
import { objectText } from '../../platform/json/json-text.js';
import { isStorable } from '../../platform/http/dto.js';

/** Limits: columns of a row, and types of feedback in them. Each type may read a payload of 1 MiB for each call. */
const MAX_COLUMNS = 64;
const MAX_TYPES = 8;
const MAX_NAME = 256;

const DOCUMENTS = ['attributes', 'inputs', 'output', 'summary'] as const;
const VALUES = [
  'id',
  'op_name',
  'display_name',
  'trace_id',
  'parent_id',
  'thread_id',
  'turn_id',
  'started_at',
  'ended_at',
  'exception',
];

type DocumentName = (typeof DOCUMENTS)[number];

/**
 * A column of a row: a path into a document of the call, a path into the payload of its feedback, or a value of the
 * call.
 */
interface RowColumn {
  name: string;
  /** The name of a document, `feedback` and the type, or the name of a value. */
  from: string;
  /** Null for a value. A step of digits may be an index or a name. */
  path: readonly string[] | null;
}

/** The parts of a row: texts of documents and payloads, keyed by `from`, and values. */
export interface RowParts {
  texts: ReadonlyMap<string, string | null | undefined>;
  values: Readonly<Record<string, string | null | undefined>>;
}

export class RowColumns {
  readonly documents: ReadonlySet<string>;
  /** Types of feedback, keyed by their names in `RowParts.texts`. */
  readonly feedback: ReadonlyMap<string, string>;

  /** @throws ApiError `invalid_request`, InvalidQuery */
  static read(columns: Record<string, unknown>): RowColumns {
    const entries = Object.entries(columns);
    if (entries.length === 0 || entries.length > MAX_COLUMNS)
      throw refused('columns', `must have 1 to ${MAX_COLUMNS} members`);
    const bytes = nameBudget();
    const types = new Map<string, string>();
    const found = entries.map(([name, path]): RowColumn => {
      const at = `columns.${name.slice(0, MAX_NAME)}`;
      if (!isStorable(name) || name.length > MAX_NAME)
        throw refused(at, `must have a name of at most ${MAX_NAME} characters without \\u0000`);
      const steps = pathSteps(typeof path === 'string' ? dotted(path) : path, at, bytes);
      return column(name, steps, { at, types });
    });
    if (types.size > MAX_TYPES)
      throw refused('columns', `must not name more than ${MAX_TYPES} types of feedback`);
    return new RowColumns(found, types);
  }

  private constructor(
    private readonly columns: readonly RowColumn[],
    feedback: ReadonlyMap<string, string>,
  ) {
    this.feedback = feedback;
    this.documents = new Set(columns.map(({ from }) => from).filter(isDocument));
  }

  /** Builds a row as JSON text. Values keep the text of the call; missing values are null. */
  row({ texts, values }: RowParts): string {
    const found = new Map<RowColumn, string>();
    for (const from of new Set(this.columns.filter(({ path }) => path).map((each) => each.from))) {
      const text = texts.get(from);
      const columns = this.columns.filter((each) => each.from === from);
      if (text) for (const [each, json] of valuesIn(text, columns)) found.set(each, json);
    }
    return objectText(
      this.columns.map((each) => [
        each.name,
        found.get(each) ?? (each.path ? 'null' : JSON.stringify(values[each.from] ?? null)),
      ]),
    );
  }
}

const refused = (path: string, message: string) => invalidRequest([{ path, message }]);

const isDocument = (name: string): name is DocumentName => DOCUMENTS.includes(name as DocumentName);

/** Writes `choices[0].text` as `choices.0.text`. Brackets at the beginning of a step remain. */
const dotted = (path: string) => path.replaceAll(/(?<=[^.[\\])\[(\d{1,9})\](?=[.[]|$)/g, '.$1');

function column(
  name: string,
  steps: readonly string[],
  { at, types }: { at: string; types: Map<string, string> },
): RowColumn {
  const [root, ...path] = steps as [string, ...string[]];
  if (isDocument(root)) return { name, from: root, path };
  if (VALUES.includes(root) && path.length === 0) return { name, from: root, path: null };
  const [type, member, ...rest] = path;
  if (root !== 'feedback' || type === undefined || member !== 'payload')
    throw unknownField(steps.join('.'), at);
  const from = `feedback ${type}`;
  types.set(from, type);
  return { name, from, path: rest };
}

const IS_DIGITS = /^\d{1,9}$/;

/** Returns the values of columns in a text. A step of digits is read as an index first, then as a name. */
function valuesIn(text: string, columns: readonly RowColumn[]): [RowColumn, string][] {
  const asIndexes = columns.map(({ path }) =>
    path!.map((step): PathStep => (IS_DIGITS.test(step) ? Number(step) : step)),
  );
  const asNames = columns.map(({ path }) => path!);
  const found = textsAt(text, [...asIndexes, ...asNames]);
  return columns.flatMap((each, i): [RowColumn, string][] => {
    const json = found[i] ?? found[columns.length + i];
    return json === undefined ? [] : [[each, json]];
  });
}
