import { InvalidFilter, parseExpression, soughtTexts, term } from './filter.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const field = (path: string) => ({ $getField: path });
const literal = (value: unknown) => ({ $literal: value });
const has = (path: string, substr: string) => ({
  $contains: { input: field(path), substr: literal(substr), case_insensitive: true },
});
const is = (operator: string, path: string, value: unknown) => ({
  [operator]: [field(path), literal(value)],
});
const LATENCY = 'summary.svc.latency_ms';
const NAME = 'summary.svc.trace_name';
const said = (text: string) => ({
  $or: [NAME, 'inputs', 'output', 'exception'].map((path) => has(path, text)),
});
const orMissing = (path: string, expression: object) => ({
  $or: [expression, is('$eq', path, null)],
});
const isTagged = (step: string) => ({
  $convert: { input: field(String.raw`feedback.tag\.${step}.payload`), to: 'exists' },
});
const isError = is('$eq', 'summary.svc.status', 'error');
const notError = is('$ne', 'summary.svc.status', 'error');

it.each<[string, unknown]>([
  ['', undefined],
  ['  ', undefined],
  ['status=error', isError],
  ['source=playground', is('$eq', 'source', 'playground')],
  ['NOT source=evaluation', is('$ne', 'source', 'evaluation')],
  ['latency>=2000', is('$gte', LATENCY, 2000)],
  ['latency>1s', is('$gt', LATENCY, 1000)],
  ['latency > 1.5s', is('$gt', LATENCY, 1500)],
  ['latency<1m30s', is('$lt', LATENCY, 90_000)],
  ['latency<200us', is('$lt', LATENCY, 0.2)],
  ['tokens>10k', is('$gt', 'summary.svc.total_tokens', 10_000)],
  ['tokens_in>=1,500', is('$gte', 'summary.svc.input_tokens', 1500)],
  ['tokens_out<1.5M', is('$lt', 'summary.svc.output_tokens', 1_500_000)],
  ['cost>0.5', is('$gt', 'summary.svc.total_cost', 0.5)],
  [
    'NOT cost>1',
    orMissing('summary.svc.total_cost', { $not: [is('$gt', 'summary.svc.total_cost', 1)] }),
  ],
  ['cost<=$1,500.25', is('$lte', 'summary.svc.total_cost', 1500.25)],
  ['age<2h', is('$gt', 'started_at', '2026-11-20T10:00:00.000Z')],
  ['started>=2026-11-20T10:00Z', is('$gte', 'started_at', '2026-11-20T10:00:00.000Z')],
  ['inputs.n=1e3', is('$eq', 'inputs.n', 1000)],
  ['inputs.n = "1e3"', is('$eq', 'inputs.n', '1e3')],
  [
    'inputs.n=9007199254740993',
    {
      $eq: [field('inputs.n'), { $convert: { input: literal('9007199254740993'), to: 'double' } }],
    },
  ],
  ['inputs.ok!=true', orMissing('inputs.ok', is('$ne', 'inputs.ok', true))],
  ['NOT inputs.n>3', orMissing('inputs.n', { $not: [is('$gt', 'inputs.n', 3)] })],
  ['output.x!=null', is('$ne', 'output.x', null)],
  ['any(op=a status=error)', { $any: { $and: [is('$eq', 'op_name', 'a'), isError] } }],
  ['NOT parent(op=a)', { $not: [{ $parent: is('$eq', 'op_name', 'a') }] }],
  ['under(NOT op=a)', { $ancestor: is('$ne', 'op_name', 'a') }],
  ['first(any(status=error))', { $first_llm: { $any: isError } }],
  ['children > 5', { $gt: [{ $child_count: {} }, literal(5)] }],
  ['children(status=error)!=1k', { $not: [{ $eq: [{ $child_count: isError }, literal(1000)] }] }],
  ['children', said('children')],
  ['many(x)', said('many(x)')],
  ['"any(x)"', said('any(x)')],
  ['NOT (op=a OR status=error)', { $and: [is('$ne', 'op_name', 'a'), notError] }],
  ['status!=error', notError],
  ['NOT NOT status=error', isError],
  ['inputs.[my key].x=1', is('$eq', 'inputs.[my key].x', 1)],
  ['output.x=null', is('$eq', 'output.x', null)],
  ['op=42', is('$eq', 'op_name', '42')],
  ['thread=null', is('$eq', 'thread_id', null)],
  ['thread="null"', is('$eq', 'thread_id', 'null')],
  ['user="Ada L."', is('$eq', 'svc_user_id', 'Ada L.')],
  ['thread=a=b', is('$eq', 'thread_id', 'a=b')],
  ['inputs.q~f(x)', has('inputs.q', 'f(x)')],
  ['inputs.q~"a \\"b\\" \\\\"', has('inputs.q', 'a "b" \\')],
  ['exception~timeout', has('exception', 'timeout')],
  ['model=gpt-4.1', { $convert: { input: field('summary.usage.gpt-4\\.1'), to: 'exists' } }],
  ['model=[a]', { $convert: { input: field(String.raw`summary.usage.\[a]`), to: 'exists' } }],
  ['tag=bug', isTagged('bug')],
  ['tag="two words"', isTagged('two words')],
  ['tag = v1.2[x].y\\z', isTagged(String.raw`v1\.2\[x]\.y\\z`)],
  ['tag=$&', isTagged('$&')],
  ['tag!=bug', { $not: [isTagged('bug')] }],
  ['NOT tag=bug', { $not: [isTagged('bug')] }],
  ['thumbs=down', has('feedback.[svc.reaction.1].payload.emoji', '👎')],
  ['note~wrong', has('feedback.[svc.note.1].payload.note', 'wrong')],
  [
    'score.correct>=0.5',
    {
      $or: [
        is('$gte', 'feedback.[svc.annotation.correct].payload.value', 0.5),
        is('$gte', 'feedback.[svc.runnable.correct].payload.output', 0.5),
      ],
    },
  ],
  ['text~refund', { $or: ['inputs', 'output', 'exception'].map((path) => has(path, 'refund')) }],
  ['{"$expr":{"$eq":[1,2]}}', { $eq: [1, 2] }],
  ['{"$eq":[1,2]}', { $eq: [1, 2] }],
  ['search', said('search')],
  ['name~search', has(NAME, 'search')],
  ['"OR"', said('OR')],
  ['ORDER', said('ORDER')],
  ['search status=error', { $and: [said('search'), isError] }],
  ['a OR b', { $or: [said('a'), said('b')] }],
  ['a AND b', { $and: [said('a'), said('b')] }],
  ['a b OR c', { $or: [{ $and: [said('a'), said('b')] }, said('c')] }],
  ['a (b OR NOT status=error)', { $and: [said('a'), { $or: [said('b'), notError] }] }],
  ['(status=error)', isError],
  ['status!~err', { $not: [has('summary.svc.status', 'err')] }],
])('%s', (text, expected) => expect(parseExpression(text, NOW)).toEqual(expected));

it.each([
  ['status=', 'status=', 'status= needs a value.'],
  ['a status=err', 'err', 'Write one of success, error, descendant_error, running.'],
  ['latency>fast', 'fast', 'Write a duration like 500ms, 1.5s or 2m.'],
  ['latency>1x', '1x', 'Write a duration like 500ms, 1.5s or 2m.'],
  ['tokens>many', 'many', 'Write a number like 800, 10k or 1.5M.'],
  ['a latncy>1s', 'latncy', 'There is no field latncy. Did you mean latency?'],
  ['input.q=1', 'input.q', 'There is no field input.q. Did you mean inputs.q?'],
  ['cost>2c', '2c', 'Write an amount like 0.5 or $0.5.'],
  ['costs>1', 'costs', 'Did you mean cost?'],
  ['model>3', 'model>3', 'whole name'],
  ['status:error', 'status:error', 'Write status=error'],
  ['tag~bu', 'tag~bu', 'Write tag= or tag!= and the whole name.'],
  ['tag:bug', 'tag:bug', 'Write tag=bug'],
  ['a OR', 'R', 'A condition is missing at the end.'],
  ['OR a', 'OR', 'OR must stand between two conditions.'],
  ['(a', '(', 'This ( is not closed.'],
  ['a)', ')', 'This ) has no (.'],
  ['()', ')', 'A condition is missing here.'],
  ['op="x', '"x', 'This quotation mark is not closed.'],
  ['=3', '=', 'The name of a field is missing before this.'],
  ['{"$eq":', '{"$eq":', 'one expression of the query language'],
  ['age=2h', 'age=2h', 'Write age<2h'],
  ['started>soon', 'soon', 'Write a time like'],
])('%s is refused at its place', (text, place, message) => {
  let fault: unknown;
  try {
    parseExpression(text);
  } catch (error) {
    fault = error;
  }
  expect(fault).toBeInstanceOf(InvalidFilter);
  const { from, to, message: said } = fault as InvalidFilter;
  expect(said).toContain(message);
  expect(text.slice(from, to)).toBe(place);
});

it('takes any length, and no depth that would end the page', () => {
  expect(() => parseExpression('('.repeat(100_000))).toThrow('at most 12 NOTs and parentheses');
  expect(() => parseExpression('NOT '.repeat(100_000) + 'a')).toThrow(InvalidFilter);
  expect(parseExpression('a '.repeat(100))).toMatchObject({ $and: { length: 100 } });
});

it.each([
  'plain',
  'with blank',
  'with "quote"',
  'back\\slash',
  'a=b',
  '',
  'f(x)',
  'null',
  '(',
  '[x',
])('a term with %s is read back', (value) => {
  expect(parseExpression(term('thread', '=', value))).toEqual({
    $eq: [field('thread_id'), literal(value)],
  });
});

it.each([
  ['status=error refund', ['refund']],
  ['name~search "two words"', ['two words']],
  ['text~你好', ['你好']],
  ['(op=a OR inputs.q~x)', ['x']],
  ['attributes.tags~bug', ['bug']],
  ['refund "out of stock" NOT lost refund', ['refund', 'out of stock']],
  ['name~search', []],
  ['NOT refund', []],
  ['any(refund) NOT text~x', ['refund']],
  ['status=error', []],
  ['', []],
])('%s searches the documents of calls for %j', (text, sought) =>
  expect(soughtTexts(parseExpression(text) ?? {})).toEqual(sought),
);
