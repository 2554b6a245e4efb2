import * as fc from 'fast-check';
import {
  column,
  InvalidQuery,
  jsonAt,
  nameBudget,
  orderBy,
  parsePath,
  resolve,
  select,
} from './columns.js';
import { sql } from './sql.js';

const summary = column.json(sql`c.summary`, sql`c.is_opaque`);
const columns = {
  id: column.text(sql`c.id`, { isNotNull: true }),
  price: column.number(sql`c.price`),
  started_at: column.time(sql`c.started_at`, { isNotNull: true }),
  summary,
  'summary.svc.status': column.text(sql`status(c)`),
  feedback: ([type, ...path]: readonly string[]) =>
    type === 'svc.note.1' ? jsonAt(summary, path) : undefined,
};
const read = (name: unknown) => resolve(columns, name, 'at', nameBudget());
const text = (name: string) => read(name).sql.toQuery().text;
const path = (name: string) => read(name).sql.toQuery().values[0];
const order = (...sorts: [string, 'asc' | 'desc'][]) =>
  orderBy(
    columns,
    sorts.map(([field, direction]) => ({ field, direction })),
    'id',
  ).toQuery().text;

describe('a name', () => {
  it.each([
    ['a.b.0', ['a', 'b', '0']],
    [String.raw`a\.b.c`, ['a.b', 'c']],
    ['a..b.', ['a', '', 'b', '']],
    ['', ['']],
    ['f.[a.b].p', ['f', 'a.b', 'p']],
    ['[x.y]z', ['[x', 'y]z']],
    [String.raw`\[a].b`, ['[a]', 'b']],
    [String.raw`a\\.b\c`, ['a\\', String.raw`b\c`]],
  ])('%j has the steps %j', (name, steps) => expect(parsePath(name)).toEqual(steps));

  it('is the longest entry of the table that begins it', () => {
    expect(text('summary.svc.status')).toBe('status(c)');
    expect(path('summary.svc.status.x')).toEqual(['svc', 'status', 'x']);
    expect(path('summary')).toEqual([]);
    expect(path('feedback.[svc.note.1].payload.x')).toEqual(['payload', 'x']);
  });

  it('reads steps that text cannot hold as the stored JSON is read', () =>
    expect(path('summary.a\0\ud800')).toEqual(['a\ufffd\ufffd']));

  it('takes a signed step for a key, never for an index', () =>
    expect(text('summary.a.-1.b')).toMatch(/ #> \$1::text\[\] -> \$2::text #>> \$3::text\[\]\)$/));

  it('binds each of several signed steps once', () =>
    expect(text('summary.-1. 2.b')).toMatch(/ END -> \$1::text -> \$2::text #>> \$3::text\[\]\)$/));

  it.each([
    'nope',
    '',
    'id.x',
    'id.',
    '__proto__',
    'constructor',
    'toString',
    'feedback.other.x',
    'summary\\.svc\\.status',
  ])('%j is unknown', (name) =>
    expect(() => read(name)).toThrow(`at: names an unknown field ${JSON.stringify(name)}`),
  );

  it.each([1, null, undefined, ['id'], 'summary.'.padEnd(1001, 'a')])('%j is none', (name) =>
    expect(() => read(name)).toThrow(InvalidQuery),
  );

  it('is parsed as its grammar says, whatever it holds', () => {
    const STEP = /\.(?:\[(.*?)\](?=\.|$)|((?:\\[.\\[]|[^.])*))/gs;
    const grammar = (name: string) =>
      Array.from(
        `.${name}`.matchAll(STEP),
        ([, bracketed, plain]) => bracketed ?? plain!.replaceAll(/\\([.\\[])/g, '$1'),
      );
    const unit = fc.constantFrom('.', '[', ']', '\\', 'a', '\n', '.[', '].', '\\.');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (name) =>
        expect(parsePath(name)).toEqual(grammar(name)),
      ),
      { numRuns: 2000 },
    );
  });

  it('has at most 64 steps', () => {
    expect(path(`summary${'.a'.repeat(63)}`)).toHaveLength(63);
    expect(() => read(`summary${'.a'.repeat(64)}`)).toThrow('at: must not have more than 64 steps');
  });

  it('looks up no longer prefixes than the names of the table', () => {
    const lookUps: unknown[] = [];
    const watched = new Proxy(columns, {
      getOwnPropertyDescriptor(table, key) {
        lookUps.push(key);
        return Reflect.getOwnPropertyDescriptor(table, key);
      },
    });
    resolve(watched, 'id', 'at', nameBudget()); // reads the whole table once
    lookUps.length = 0;
    resolve(watched, `summary${'.a'.repeat(60)}`, 'at', nameBudget());
    expect(lookUps).toEqual(['summary.a.a', 'summary.a', 'summary']);
  });
});

describe('select', () => {
  it('names each column once and writes times in the form of the wire', () =>
    expect(select(columns, ['price', 'started_at', 'summary', 'price']).toQuery().text).toBe(
      `c.price AS "price", to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "started_at", c.summary AS "summary"`,
    ));

  it.each(['nope', '__proto__', 'feedback', 'summary.x'])('refuses %j, saying where', (name) =>
    expect(() => select(columns, ['id', 'id', name])).toThrow(
      `fields[2]: names an unknown field "${name}"`,
    ),
  );
});

describe('orderBy', () => {
  it('ends in the tie-breaker, with NULLs last', () => {
    expect(order()).toBe('ORDER BY c.id COLLATE "C" ASC NULLS LAST');
    expect(order(['price', 'desc'])).toBe(
      'ORDER BY c.price DESC NULLS LAST, c.id COLLATE "C" ASC NULLS LAST',
    );
  });

  it('leaves a descending column without NULLs to its index', () =>
    expect(order(['started_at', 'desc'], ['id', 'desc'])).toBe(
      'ORDER BY c.started_at DESC, c.id COLLATE "C" DESC',
    ));

  it('sorts values inside JSON by number, then by text, and binds the path once', () =>
    expect(order(['summary.x', 'asc'])).toMatch(
      /^ORDER BY skein_number\(.* #>> \$1::text\[\]\)\) ASC NULLS LAST, regexp_replace\(.* #>> \$1::text\[\]\), \$2::text, ''\) COLLATE "C" ASC NULLS LAST, c.id/,
    ));

  it('takes 32 KiB of names', () => {
    const field = `summary.${'é'.repeat(500)}`;
    expect(order(...Array(32).fill([field, 'asc']))).toContain('ORDER BY');
    expect(() => order(...Array(33).fill([field, 'asc']))).toThrow(
      'sort_by[32].field: exceeds the limit of 32768 bytes for all field names',
    );
  });

  it('says which sort names no field', () =>
    expect(() => order(['id', 'asc'], ['id; DROP TABLE x', 'asc'])).toThrow(
      'sort_by[1].field: names an unknown field "id; DROP TABLE x"',
    ));
});
