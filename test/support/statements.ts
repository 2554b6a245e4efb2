import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Client, type PoolClient } from 'pg';
import type { Database } from '../../src/platform/database/database.js';
import { sql, type Sql } from '../../src/platform/query/sql.js';
import type { TestApp } from './app.js';

/** A statement that the service ran, with the values of one run. */
export interface Statement {
  text: string;
  values: unknown[];
  /** Read through a cursor, so the statement is a list. */
  isStream: boolean;
  /** The label of its `Sql`. Rows of `COPY` and statements of repositories have none. */
  label: string | undefined;
}

/** Part of a statement that `beginSession` runs when the pool opens a connection. */
const OPENS_A_CONNECTION = 'set_config(name, wanted, false)';

/**
 * Records the statements of the service from now on, keyed by text. Statements of `app.query` in tests are left out.
 */
export function recordStatements({ dataSource }: TestApp): Map<string, Statement> {
  const statements = new Map<string, Statement>();
  const asked = new Set<string>();
  const ask = dataSource.query.bind(dataSource);
  jest.spyOn(dataSource, 'query').mockImplementation((text: string, values) => {
    asked.add(text);
    return ask(text, values);
  });
  const labels = new Map<string, string | undefined>();
  const shared: Sql = Object.getPrototypeOf(sql``);
  const toQuery = Object.getOwnPropertyDescriptor(shared, 'toQuery')!.value as Sql['toQuery'];
  jest.spyOn(shared, 'toQuery').mockImplementation(function (this: Sql) {
    const query = toQuery.call(this);
    labels.set(query.text, query.label);
    return query;
  });
  const original = Object.getOwnPropertyDescriptor(Client.prototype, 'query')!.value as Function;
  const spied = jest.spyOn(Client.prototype, 'query') as jest.SpyInstance;
  spied.mockImplementation(function (this: Client, ...sent: any[]) {
    const [statement, values] = sent;
    const { text, values: own } = statement.text ? statement : { text: statement, values };
    const isOurs = !asked.has(text) && !text.includes(OPENS_A_CONNECTION);
    if (isOurs && /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE|COPY)\b/.test(text))
      statements.set(text, {
        text,
        values: own ?? [],
        isStream: 'read' in Object(statement),
        label: statement.label ?? labels.get(text), // streams are recorded without it
      });
    return original.apply(this, sent);
  });
  return statements;
}

/** Calls `note` from now on for each statement of the service, with the owner of its connection. */
export function recordOwners(
  database: Database,
  note: (owner: string, text: string) => void,
): void {
  const lender = database['connections'];
  const query = lender.query.bind(lender);
  jest.spyOn(lender, 'query').mockImplementation((owner, statement) => {
    note(owner, statement.text);
    return query(owner, statement);
  });
  const connect = lender.connect.bind(lender);
  jest.spyOn(lender, 'connect').mockImplementation(async (owner) => {
    const client = await connect(owner);
    const [ask, release] = [client.query.bind(client) as Function, client.release.bind(client)];
    const asked = (...sent: any[]) => {
      note(owner, sent[0].text ?? sent[0]);
      return ask(...sent);
    };
    const released = (error?: Error | boolean) => {
      delete (client as Partial<PoolClient>).query; // the client then uses the prototype's method again
      release(error);
    };
    return Object.assign(client, { query: asked, release: released });
  });
}

const HEAD =
  '-- Statements in the order of the code, written by `npm run generate:statements`: nothing reads them but people.\n';

/** Prints statements in the order of the code, as one text for each feature, keyed by `<wing>.<feature>`. */
export function listsOf(statements: Iterable<Statement>): Record<string, string> {
  const writerOf = writers();
  const entries = Array.from(statements, (statement) => {
    const end = statement.isStream ? '; -- a list\n' : ';\n';
    const text = statement.text.trim().replaceAll(/\s*\n\s*/g, '\n  ') + end;
    return { ...writerOf(statement), text };
  }).toSorted((a, b) => compare(a.path, b.path) || a.at - b.at || compare(a.text, b.text));
  const lists: Record<string, string> = {};
  let last = '';
  for (const { path, writer, text } of entries) {
    const feature = dirname(path).split('/').slice(0, 2).join('.');
    const heading = writer === last ? '' : `-- ${writer}\n`;
    lists[feature] = `${(lists[feature] ??= HEAD)}\n${heading}${text}`;
    last = writer;
  }
  return lists;
}
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

/**
 * Reads the sources, and returns a function that finds the writer of a statement: its file below `src`, its name, and
 * its position there. For a statement without a label that is the entity of its table.
 */
function writers() {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'))
    .toSorted()
    .map((path) => ({
      path,
      file: basename(path, '.ts'),
      code: readFileSync(`src/${path}`, 'utf8'),
    }));
  const entities = new Map(
    sources.flatMap((source) =>
      Array.from(
        source.code.matchAll(/^@(?:Entity|ProjectTable)\('(\w+)'/gm),
        ([, table]) => [table!, source] as const,
      ),
    ),
  );
  const entityOf = (text: string) =>
    Array.from(text.matchAll(/\b(?:FROM|INTO|UPDATE|COPY) "?(\w+)/g), ([, table]) =>
      entities.get(table!),
    ).find(Boolean);
  return ({ label = '', text }: Statement) => {
    const [file, name = ''] = label.split(':');
    const source = sources.find((known) => known.file === file) ?? entityOf(text);
    if (!source) throw new Error(`nothing in src is known to write ${text}`);
    const isNamed = name !== '' && !name.endsWith('<anonymous>');
    return {
      path: source.path,
      at: isNamed ? placeOf(name.split('.').at(-1)!, source.code) : -1,
      writer: isNamed ? label : source.file,
    };
  };
}

/** Returns where a function or a method is declared, or -1. */
const placeOf = (name: string, code: string) =>
  code.search(
    new RegExp(
      `\\b(?:function\\*?|const) ${name}\\b|^ {2}(?:async |static |private )*\\*?${name}[(<]`,
      'm',
    ),
  );

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Plan[];
  [name: string]: unknown;
}

/** A condition with a value, or with a parameter that a generic plan keeps. */
const OF_ONE_PROJECT = /project_id = (['$]|ANY)/;

/**
 * Lists tables that statements scan without a condition on the project, according to their plans. The planner also
 * knows a project that comes from a joined table; a nested loop shows it at the scan.
 *
 * A project that comes row by row, as into a correlated subquery, does not count: Citus cannot find its shard.
 */
export async function scansWithoutProject(
  { databaseUrl }: TestApp,
  statements: Iterable<Statement>,
): Promise<[table: string, text: string][]> {
  const client = new Client(databaseUrl);
  await client.connect();
  await client.query(
    'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off',
  );
  const { rows } = await client.query(`
    SELECT array_agg(DISTINCT c.relname::text) AS tables,
      array_agg(i.indexrelid::regclass::text) FILTER (WHERE pg_get_expr(i.indpred, i.indrelid) ~ 'project_id') AS indexes
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'project_id'
    LEFT JOIN pg_index i ON i.indrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`);
  const { tables, indexes } = rows[0]; // a partial index may contain a single project
  const scans = ({ Plans: inner = [], ...plan }: Plan): string[] => {
    const table = plan['Relation Name'];
    const isOfProject =
      Object.entries(plan).some(
        ([name, condition]) => /Cond$|Filter$/.test(name) && OF_ONE_PROJECT.test(String(condition)),
      ) || indexes?.includes(plan['Index Name']);
    const isScan = table && tables.includes(table) && plan['Node Type'] !== 'ModifyTable';
    return [...(isScan && !isOfProject ? [table] : []), ...inner.flatMap(scans)];
  };
  const found: [string, string][] = [];
  for (const { text, values } of statements) {
    if (text.startsWith('COPY')) continue; // it only writes and has no plan
    const explained = await client.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
    for (const table of scans(explained.rows[0]['QUERY PLAN'][0].Plan)) found.push([table, text]);
  }
  await client.end();
  return found;
}

const LAST_NAME = /(\w+)"?(?:::\w+)?(?: COLLATE "C")?(?: (?:ASC|DESC))?(?: NULLS \w+)?$/;

/** The last sort key of each ORDER BY of the statement's SELECTs, without those of aggregates and windows. */
export function lastKeysOf({ text }: Statement): string[] {
  const done: string[] = [];
  const open = [''];
  for (const part of text.replaceAll(/'(?:[^']|'')*'/g, `''`).split(/([()])/))
    if (part === '(') open.push('');
    else if (part === ')') {
      done.push(open.pop()!);
      open[open.length - 1] += '()';
    } else open[open.length - 1] += part;
  return [...done, ...open].flatMap((select) => {
    if (!/^\s*(SELECT|WITH)\b/.test(select)) return [];
    const order = /\sORDER BY\s+(.*?)(\s(LIMIT|OFFSET|FOR|RETURNING)\s.*)?$/s.exec(select)?.[1];
    const key = order?.trimEnd().split(',').at(-1);
    return key ? [LAST_NAME.exec(key)![1]!] : [];
  });
}

/** Parts of a statement in which Citus accepts only immutable or stable functions. */
const PARTS: [what: string, part: RegExp, takes: 'immutable' | 'stable'][] = [
  ['DO UPDATE SET', /\bDO UPDATE SET\b[^]*/g, 'immutable'],
  ['RETURNING', /\bRETURNING\b[^]*/g, 'immutable'],
  [
    'CASE or coalesce of UPDATE',
    /^\s*UPDATE\b(?=[^]*(?:CASE|coalesce))[^]*?\bWHERE\b/g,
    'immutable',
  ],
  ['UPDATE', /\bUPDATE \w+[^]*/g, 'stable'],
];

/** The text up to the bracket that closes it. */
function upToEnd(text: string): string {
  let depth = 0;
  for (const { 0: bracket, index } of text.matchAll(/[()]/g))
    if ((depth += bracket === '(' ? 1 : -1) < 0) return text.slice(0, index);
  return text;
}

/**
 * Lists forms of statements that Citus refuses, found in their text. `scansWithoutProject` finds joins across projects.
 */
export async function refusedByCitus(
  { query }: Pick<TestApp, 'query'>,
  statements: Iterable<Statement>,
): Promise<string[]> {
  const [functions] = await query<{ changing: string[]; volatile: string[]; reading: string[] }>(`
    SELECT array_agg(name) AS changing, array_agg(name) FILTER (WHERE is_volatile) AS volatile,
      array_agg(name) FILTER (WHERE reads_tables) AS reading FROM (
      SELECT proname::text AS name, bool_and(provolatile = 'v') AS is_volatile,
        bool_or(starts_with(proname, 'skein_') AND prosrc ~ ('\\mFROM (' || (
          SELECT string_agg(relname, '|') FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace) || ')\\M')
        ) AS reads_tables FROM pg_proc
      GROUP BY proname HAVING bool_and(provolatile <> 'i')) f`);
  const refused = { immutable: new Set(functions!.changing), stable: new Set(functions!.volatile) };
  const found: string[] = [];
  for (const { text } of statements) {
    for (const [what, part, takes] of PARTS)
      for (const [said] of text.matchAll(part))
        for (const [, name] of upToEnd(said).matchAll(/\b(\w+)[(]/g))
          if (refused[takes].has(name!)) found.push(`${name} in ${what}: ${text}`);
    for (const [said, name] of text.matchAll(/\b(skein_\w+)[(](?:[^()]|[(][^()]*[)])*/g))
      if (functions!.reading.includes(name!) && /\b[a-z]\.\w/.test(said))
        found.push(`${name}, which reads tables, for each row of one: ${text}`);
    if (/\bSET [^]*?\bproject_id = /.test(text.replace(/\bWHERE\b[^]*/, '')))
      found.push(`another project for a row: ${text}`);
    if (/[(]\s*INSERT\b(?:[^()]|[(][^()]*[)])*\bSELECT\b/.test(text))
      found.push(`INSERT … SELECT in WITH: ${text}`);
    if (/\bFOR (NO KEY UPDATE|UPDATE|SHARE)\b/.test(text) && !/project_id = [$]\d/.test(text))
      found.push(`locks of rows of any project: ${text}`);
  }
  return found;
}
