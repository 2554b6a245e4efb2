import { BadFilter, parseExpression, term } from './filter.ts';

const field = (path: string) => ({ $getField: path });

it.each([
  ['', undefined],
  ['  ', undefined],
  ['status=error', { $eq: [field('summary.svc.status'), { $literal: 'error' }] }],
  ['latency>=2000', { $gte: [field('summary.svc.latency_ms'), { $literal: 2000 }] }],
  ['inputs.n=1e3', { $eq: [field('inputs.n'), { $literal: 1000 }] }],
  ['inputs.n="1e3"', { $eq: [field('inputs.n'), { $literal: '1e3' }] }],
  ['inputs.ok!=true', { $ne: [field('inputs.ok'), { $literal: true }] }],
  ['output.x=null', { $eq: [field('output.x'), { $literal: null }] }],
  ['op=42', { $eq: [field('op_name'), { $literal: '42' }] }],
  ['user="Ada L."', { $eq: [field('svc_user_id'), { $literal: 'Ada L.' }] }],
  [
    'inputs.q~"a \\"b\\" \\\\"',
    {
      $contains: {
        input: field('inputs.q'),
        substr: { $literal: 'a "b" \\' },
        case_insensitive: true,
      },
    },
  ],
  ['model=gpt-4.1', { $convert: { input: field('summary.usage.gpt-4\\.1'), to: 'exists' } }],
  ['{"$expr":{"$eq":[1,2]}}', { $eq: [1, 2] }],
  ['{"$eq":[1,2]}', { $eq: [1, 2] }],
])('%s', (text, expected) => expect(parseExpression(text)).toEqual(expected));

it('wants every term, and looks for words in the name', () => {
  expect(parseExpression('search status!~err')).toEqual({
    $and: [
      {
        $contains: {
          input: field('summary.svc.trace_name'),
          substr: { $literal: 'search' },
          case_insensitive: true,
        },
      },
      {
        $not: [
          {
            $contains: {
              input: field('summary.svc.status'),
              substr: { $literal: 'err' },
              case_insensitive: true,
            },
          },
        ],
      },
    ],
  });
});

it.each(['status=', 'model>3', '{"$eq":'])('%s is refused', (text) =>
  expect(() => parseExpression(text)).toThrow(BadFilter),
);

it.each(['plain', 'with blank', 'with "quote"', 'back\\slash', 'a=b', ''])(
  'a term with %s is read back',
  (value) => {
    expect(parseExpression(term('thread', '=', value))).toEqual({
      $eq: [field('thread_id'), { $literal: value }],
    });
  },
);
