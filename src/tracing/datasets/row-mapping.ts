import { invalidRequest } from '../../platform/errors.js';
import { isStorable } from '../../platform/http/dto.js';
import { parseJson } from '../../platform/http/body.guard.js';
import { SCALAR, skipValue, TooDeep } from '../../platform/json/json-grammar.js';
import { JsonLimit, parseBounded } from '../../platform/json/json-weight.js';
import { nameBudget, pathSteps } from '../../platform/query/columns.js';

export const COLUMN_TYPES = ['text', 'number', 'boolean', 'json'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];
export const MAX_COLUMNS = 1000;
const MAX_NAME = 256;

/** A fault of a row, or of one of its fields. */
export class RowFault extends Error {
  constructor(
    message: string,
    readonly field?: string,
  ) {
    super(message);
  }
}

/** A column of a file: its path in the row as the client wrote it, and the type of its values. */
export interface FileColumn {
  name: string;
  /** Null for a column that is left out. */
  path: string | null;
  /** Null for values of JSON lines that stay as they are. */
  type: ColumnType | null;
}

interface MappedColumn extends FileColumn {
  steps: readonly string[];
}

/** A member of a row: the value with the number `value`, or an object. */
type RowTree = Map<string, RowTree | number>;

interface RowLayout {
  names: readonly string[];
  columns: readonly MappedColumn[];
  tree: RowTree;
}

/** Says which column of a file becomes which member of a row. Columns that it does not name keep their names. */
export class RowMapping {
  private layout: RowLayout | undefined;
  /** Named columns that no row had so far. */
  readonly unseen: Set<string>;

  /**
   * Reads a mapping: `{"<column>": "<path>"}`, `{"<column>": {"path": …, "type": …}}`, or null for a column that is
   * left out.
   * @throws ApiError `invalid_request`, InvalidQuery
   */
  static read(text: string | undefined, defaultType: ColumnType | null): RowMapping {
    const given: unknown = text === undefined ? {} : parseMapping(text);
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw refused('mapping', 'must be a JSON object');
    const budget = nameBudget();
    const columns = Object.entries(given).map(([name, value]): [string, MappedColumn] => {
      const at = `mapping.${name.slice(0, MAX_NAME)}`;
      if (value === null) return [name, { name, path: null, type: null, steps: [] }];
      const { path, type = defaultType } = readColumn(value, at);
      if (path === undefined) return [name, plainColumn(name, type)];
      const steps = pathSteps(path, at, budget);
      return [name, { name, path, type, steps }];
    });
    return new RowMapping(new Map(columns), defaultType);
  }

  private constructor(
    private readonly named: ReadonlyMap<string, MappedColumn>,
    private readonly defaultType: ColumnType | null,
  ) {
    this.unseen = new Set(named.keys());
  }

  get isEmpty(): boolean {
    return this.named.size === 0;
  }

  column(name: string): FileColumn {
    const { path, type } = this.mapped(name);
    return { name, path, type };
  }

  private mapped(name: string): MappedColumn {
    return this.named.get(name) ?? plainColumn(name, this.defaultType);
  }

  /**
   * Builds a row of the values of columns. `asJson` turns a value into JSON text by its type.
   * @throws RowFault
   */
  row(
    names: readonly string[],
    values: readonly string[],
    asJson: (value: string, type: ColumnType | null) => string,
  ): string {
    const { columns, tree } = this.layoutOf(names);
    const texts = columns.map(({ name, path, type }, i) => {
      if (path === null) return '';
      try {
        return asJson(values[i]!, type);
      } catch (error) {
        throw new RowFault(reason(error), name);
      }
    });
    return printTree(tree, texts);
  }

  /** Most rows of a file have the same columns, so the last layout is kept. */
  private layoutOf(names: readonly string[]): RowLayout {
    const { layout } = this;
    if (layout && sameNames(layout.names, names)) return layout;
    const columns = names.map((name) => this.mapped(name));
    const tree: RowTree = new Map();
    for (const [i, { name, path, steps }] of columns.entries())
      if (path !== null && !place(tree, steps, i))
        throw new RowFault('has the same place in the row as another column', name);
    for (const name of names) this.unseen.delete(name);
    return (this.layout = { names: [...names], columns, tree });
  }
}

const refused = (path: string, message: string) => invalidRequest([{ path, message }]);

const plainColumn = (name: string, type: ColumnType | null): MappedColumn => ({
  name,
  path: name,
  type,
  steps: [name],
});

function parseMapping(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw refused('mapping', 'must be JSON');
  }
}

function readColumn(value: unknown, at: string): { path?: string; type?: ColumnType } {
  const isPath = typeof value === 'string';
  const { path, type } = Object(isPath ? { path: value } : value) as Record<string, unknown>;
  if ((typeof value !== 'object' && !isPath) || (path !== undefined && !isName(path)))
    throw refused(at, 'must be null, a path, or {"path": …, "type": …}, without \\u0000');
  if (type !== undefined && !COLUMN_TYPES.includes(type as ColumnType))
    throw refused(`${at}.type`, `must be one of ${COLUMN_TYPES.join(', ')}`);
  return {
    ...(path !== undefined && { path }),
    ...(type !== undefined && { type: type as ColumnType }),
  };
}

const isName = (path: unknown): path is string => isStorable(path) && path !== '';

const sameNames = (a: readonly string[], b: readonly string[]) =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]));

/** Puts the value `i` at a path. False when another value is there, or on the way. */
function place(tree: RowTree, steps: readonly string[], i: number): boolean {
  let at = tree;
  for (const step of steps.slice(0, -1)) {
    const next = at.get(step) ?? new Map();
    if (typeof next === 'number') return false;
    at.set(step, next);
    at = next;
  }
  const last = steps.at(-1)!;
  if (at.has(last)) return false;
  at.set(last, i);
  return true;
}

function printTree(tree: RowTree, texts: readonly string[]): string {
  let text = '{';
  for (const [name, value] of tree) {
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(name)}:${typeof value === 'number' ? texts[value]! : printTree(value, texts)}`;
  }
  return `${text}}`;
}

/**
 * Returns what is wrong with a row, for a client. Messages of `JSON.parse` are not used, since they repeat the text.
 * @throws other errors
 */
export function reason(error: unknown): string {
  if (error instanceof SyntaxError) return 'is not valid JSON';
  if (error instanceof RowFault || error instanceof TooDeep || error instanceof JsonLimit)
    return error.message;
  throw error;
}

/** Parses JSON, which may not be nested too deeply. */
export function checkedJson(text: string): unknown {
  const value = parseBounded(text);
  skipValue(text, 0);
  return value;
}

/**
 * Turns the text of a CSV field into JSON text.
 * @throws RowFault, SyntaxError, JsonLimit, TooDeep
 */
export function fieldJson(text: string, type: ColumnType | null): string {
  if (type === 'text' || type === null) return JSON.stringify(text);
  const plain = text.trim();
  if (plain === '') return 'null';
  if (type === 'json') {
    checkedJson(plain);
    return plain;
  }
  const word = type === 'boolean' ? plain.toLowerCase() : plain;
  const isBoolean = word === 'true' || word === 'false';
  if (isBoolean === (type === 'boolean') && (isBoolean || isNumber(word))) return word;
  throw new RowFault(type === 'boolean' ? 'is neither true nor false' : 'is not a number');
}

function isNumber(word: string): boolean {
  SCALAR.lastIndex = 0;
  return word !== 'null' && SCALAR.exec(word)?.[0].length === word.length;
}

/** Turns a value of a JSON line into JSON text. A string is read as the text of a CSV field would be. */
export function memberJson(json: string, type: ColumnType | null): string {
  const isText = json.startsWith('"');
  if (type === null || json === 'null' || (type === 'text' && isText)) return json;
  return fieldJson(isText ? (JSON.parse(json) as string) : json, type);
}
