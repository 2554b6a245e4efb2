/** Columns that are no path, with their titles. */
export const COLUMNS = {
  status: 'Status',
  name: 'Name',
  inputs: 'Inputs',
  output: 'Output',
  latency: 'Latency',
  tokens: 'Tokens in → out',
  cost: 'Cost',
  feedback: 'Feedback',
  tags: 'Tags',
  user: 'User',
  thread: 'Thread',
  model: 'Model',
  op: 'Op',
  id: 'Id',
  started: 'Started',
} as const;
export type ColumnName = keyof typeof COLUMNS;

export const DEFAULT_COLUMNS: readonly string[] = [
  'status',
  'name',
  'latency',
  'tokens',
  'cost',
  'feedback',
  'user',
  'thread',
  'started',
];
export const MOST_COLUMNS = 20;
const MOST_CHARACTERS = 200;

/** True for a path into the documents of a call. */
export const isPath = (text: string): boolean =>
  /^(inputs|output|attributes|summary)([.[].+)?$/.test(text) && text.length <= MOST_CHARACTERS;

const isColumn = (name: unknown): name is string =>
  typeof name === 'string' && (Object.hasOwn(COLUMNS, name) || isPath(name));

export const columnTitle = (name: string): string =>
  Object.hasOwn(COLUMNS, name) ? COLUMNS[name as ColumnName] : name;

/** The columns of an address; undefined without any. */
export function columnsIn(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found = [...new Set(value.filter(isColumn))].slice(0, MOST_COLUMNS);
  return found.length === 0 ? undefined : found;
}
