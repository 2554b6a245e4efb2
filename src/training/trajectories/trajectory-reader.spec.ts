import * as fc from 'fast-check';
import { jsonTexts } from '../../../test/support/json-texts.js';
import { TrajectoryReader, type TrajectoryRow } from './trajectory-reader.js';

const NOW = '2026-01-01T00:00:00.000Z';

/** Reads a body in pieces whose lengths repeat in the given order. */
function read(body: string | Uint8Array, lengths = [64 * 1024]) {
  const bytes = Buffer.from(body as string);
  const reader = new TrajectoryReader(NOW);
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length]!;
    reader.write(bytes.subarray(at, at + length));
    at += length;
  }
  reader.end();
  const { chunks, rows } = reader.take();
  return {
    reader,
    rows,
    lines: Buffer.concat(chunks.map(({ text }) => text))
      .toString()
      .split('\n')
      .slice(0, -1),
  };
}

const documents = (rows: TrajectoryRow[]) => rows.map(({ document }) => JSON.parse(document));
const withGroups = (groups: unknown) => JSON.stringify({ trajectory_groups: groups });
const DEFAULTS = {
  messages_and_choices: [],
  reward: 0,
  tools: null,
  additional_histories: [],
  metrics: {},
  metadata: {},
  logs: [],
  start_time: NOW,
};
const logprobs = (count: number) => ({
  content: Array.from({ length: count }, () => ({ token: 'x', top_logprobs: [{}] })),
});

describe('TrajectoryReader', () => {
  it('gives back groups and members, whatever stands in them and however they are cut', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 });
    const group = fc
      .tuple(jsonTexts, fc.constantFrom('', '\n ', '\r'))
      .map(
        ([text, space]) =>
          `{${space}"extra":${text},"trajectories":[{"x":${text}},${space}{"y":${text}}]${space}}`,
      );
    fc.assert(
      fc.property(
        fc.array(group, { maxLength: 3 }),
        jsonTexts,
        lengths,
        (groups, extra, pieces) => {
          const sent = ` {"model_id":"m","z":${extra},"trajectory_groups" :[ ${groups.join(' ,\n')} ],"split":"s"}\n`;
          const { lines, reader, rows } = read(sent, pieces);
          expect(lines).toEqual(groups.map((text) => text.trim().replaceAll(/[\r\n]/g, ' ')));
          expect(reader.members.get('model_id')?.value).toBe('m');
          expect(reader.members.get('split')?.value).toBe('s');
          expect(rows).toHaveLength(2 * groups.length);
          for (const { document } of rows) JSON.parse(document);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('fills in defaults and keeps everything else as it was spelled', () => {
    const { rows } = read(
      '{"trajectory_groups":[{"trajectories":[{},{ "n":1.0,"reward":2 ,"toString":12345678901234567890}]}]}',
    );
    expect(documents(rows)[0]).toEqual(DEFAULTS);
    expect(rows[1]!.document).toContain(
      '{ "n":1.0,"reward":2 ,"toString":12345678901234567890,"messages_and_choices":[]',
    );
    expect(rows[1]).toMatchObject({
      groupIndex: 0,
      trajectoryIndex: 1,
      reward: 2,
      startTime: NOW,
      isOpaque: false,
    });
  });

  it.each([
    ['{"logprobs":L,"message":M}', '{ "message":M}'],
    ['{"message":M,"logprobs":L}', '{"message":M}'],
    ['{"message":M , "logprobs" : L , "index":0}', '{"message":M  , "index":0}'],
    ['{"logprobs":L,"logprobs":L,"message":M}', '{ "message":M}'],
    ['{"logprobs":null,"message":M,"logpro\\u0062s":L}', '{ "message":M}'],
    ['{"prompt_token_ids":[1, 2],"token_ids":[3],"logprobs":L,"message":M}', '{ "message":M}'],
    ['{"message":M,"token_ids":[3],"prompt_token_ids":[]}', '{"message":M}'],
    [
      '{"message":{"role":"a","logprobs":[1]},"logprobs":L}',
      '{"message":{"role":"a","logprobs":[1]}}',
    ],
  ])('takes the logprobs out of the choice %s', (choice, left) => {
    const spelled = (text: string) =>
      text.replaceAll('L', JSON.stringify(logprobs(2))).replaceAll('M', '{"role":"a"}');
    const turns = `[{"role":"user"},${spelled(choice)}]`;
    const sent = `{"trajectory_groups":[{"trajectories":[{"messages_and_choices":${turns},"additional_histories":[{"messages_and_choices":${turns}}],"metadata":{"logprobs":1}}]}]}`;
    for (const pieces of [[1], [7], [1000]]) {
      const { document } = read(sent, pieces).rows[0]!;
      const answer = `[{"role":"user"},${spelled(left)}]`;
      expect(document).toContain(
        `{"messages_and_choices":${answer},"additional_histories":[{"messages_and_choices":${answer}}],"metadata":{"logprobs":1},`,
      );
      JSON.parse(document);
    }
  });

  it('counts no token of a prompt among the values of a trajectory', () => {
    const ids = Array.from({ length: 150_000 }, (_, i) => i);
    const choice = { message: { role: 'a' }, prompt_token_ids: ids, token_ids: [1] };
    const trajectory = {
      messages_and_choices: [choice, choice],
      exchanges: { chat_completions: [{ response: { prompt_token_ids: ids, choices: [choice] } }] },
    };
    const { rows } = read(withGroups([{ trajectories: [trajectory] }]));
    expect(rows[0]!.document).not.toContain('token_ids');
  });

  it('counts the sampled tokens of all histories', () => {
    const turn = (count: number) => ({ message: { role: 'a' }, logprobs: logprobs(count) });
    const { rows } = read(
      withGroups([
        {
          trajectories: [
            {
              messages_and_choices: [turn(3), { role: 'u' }, turn(4)],
              additional_histories: [{ messages_and_choices: [turn(5)] }],
            },
            { messages_and_choices: [{ message: { role: 'a' }, logprobs: null }] },
            {
              exchanges: {
                chat_completions: [
                  { request: { messages: [{ role: 'u' }] }, response: { choices: [turn(6)] } },
                  { response: { choices: [turn(2), turn(1)] }, model: 'm' },
                ],
                messages: [{ response: { content: [] } }],
              },
            },
          ],
        },
      ]),
    );
    expect(rows.map(({ numTokens }) => numTokens)).toEqual([12, 0, 9]);
    expect(rows[2]!.document).not.toContain('logprobs');
    expect(JSON.parse(rows[2]!.document).exchanges.chat_completions[1].model).toBe('m');
  });

  it('flags what PostgreSQL cannot take apart', () => {
    const { rows } = read(
      '{"trajectory_groups":[{"trajectories":[{"a":"\\u0000"},{"a":"\\\\u0000"},{"\\ud800":1}]}]}',
    );
    expect(rows.map(({ isOpaque }) => isOpaque)).toEqual([true, false, true]);
  });

  it('takes the last of keys that come twice', () => {
    const sent =
      '{"split":"a","trajectory_groups":[{"trajectories":[{"reward":1}]},{}],"split":"b","trajectory_groups":[{"trajectories":[{"reward":2},{"reward":3}],"trajectories":[{"reward":4}]}]}';
    const { reader, rows, lines } = read(sent);
    expect(rows.map(({ reward }) => reward)).toEqual([4]);
    expect(lines).toEqual([
      JSON.stringify(JSON.parse(sent).trajectory_groups[0]).replace(
        '"trajectories":',
        '"trajectories":[{"reward":2},{"reward":3}],"trajectories":',
      ),
    ]);
    expect(reader.members.get('split')?.value).toBe('b');
    expect(reader.metrics.of('s')).toMatchObject({
      's/num_groups': 1,
      's/num_trajectories': 1,
      's/reward': 4,
    });
  });

  it.each([
    ['[]', ''],
    ['1', ''],
    ['{"trajectory_groups":null}', 'trajectory_groups'],
    ['{"trajectory_groups":[{},3]}', 'trajectory_groups[1]'],
    ['{"trajectory_groups":[{"trajectories":3}]}', 'trajectory_groups[0].trajectories'],
    ['{"trajectory_groups":[{},{"trajectories":[{},[]]}]}', 'trajectory_groups[1].trajectories[1]'],
    ['{"trajectory_groups":[{"exceptions":{}}]}', 'trajectory_groups[0].exceptions'],
    ['{"trajectory_groups":[{"metrics":{"a":"1"}}]}', 'trajectory_groups[0].metrics.a'],
    ['{"trajectory_groups":[{"logs":[1]}]}', 'trajectory_groups[0].logs[0]'],
    ['{"trajectory_groups":[{"metadata":{"a":[]}}]}', 'trajectory_groups[0].metadata.a'],
  ])('names the place in %s', (body, path) => {
    expect(() => read(body)).toThrow(
      expect.objectContaining({ details: { errors: [{ path, message: expect.any(String) }] } }),
    );
  });

  it.each([
    ['reward', '"1"'],
    ['reward', 'true'],
    ['messages_and_choices', '{}'],
    ['messages_and_choices[0]', '["hi"]'],
    ['messages_and_choices[0].role', '[{"content":"a"}]'],
    ['messages_and_choices[0].content', '[{"role":"a","content":1}]'],
    ['messages_and_choices[0].tool_calls', '[{"role":"a","tool_calls":{}}]'],
    ['messages_and_choices[1].message', '[{"role":"a"},{"message":null}]'],
    ['messages_and_choices[0].message.role', '[{"message":{}}]'],
    ['messages_and_choices[0].index', '[{"message":{"role":"a"},"index":"0"}]'],
    ['tools', '{}'],
    ['additional_histories', 'null'],
    ['additional_histories[0].messages_and_choices', '[{"messages_and_choices":1}]'],
    ['metrics', '[]'],
    ['metrics.a', '{"a":{}}'],
    ['metadata.a', '{"a":{}}'],
    ['logs[0]', '[{}]'],
    ['start_time', '"yesterday"'],
  ])('refuses a wrong %s: %s', (place, value) => {
    const field = /^\w+/.exec(place)![0];
    const path = `trajectory_groups[0].trajectories[0].${place}`;
    expect(() => read(`{"trajectory_groups":[{"trajectories":[{"${field}":${value}}]}]}`)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: { errors: [{ path, message: expect.any(String) }] },
      }),
    );
  });

  it('takes whatever else a real client may send', () => {
    const trajectory = {
      messages_and_choices: [
        { role: 'developer', content: [{ type: 'image_url', image_url: { url: 'data:' } }] },
        { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] },
        { role: 'tool', content: '', tool_call_id: 'a', extra: {} },
        {
          message: { role: 'assistant', content: null },
          finish_reason: null,
          index: 0,
          logprobs: null,
          stop_reason: 1,
        },
      ],
      reward: null,
      tools: null,
      additional_histories: [{ messages_and_choices: [], tools: [{}] }, {}],
      metrics: { a: true, b: 1.5, c: null },
      metadata: { a: null, b: false, c: 'x', d: 1 },
      logs: ['x'],
      start_time: '2026-01-31T12:00:00.123456',
      initial_policy_version: 3,
    };
    const { rows } = read(
      withGroups([
        { trajectories: [trajectory], exceptions: [{ type: 'a' }], logs: [], extra: [] },
        {},
      ]),
    );
    const { logprobs: _, ...choice } = trajectory.messages_and_choices[3]!;
    expect(documents(rows)).toEqual([
      {
        ...trajectory,
        messages_and_choices: [...trajectory.messages_and_choices.slice(0, 3), choice],
      },
    ]);
  });

  it.each([
    ['bad UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22])],
    ['half a character at the end', Buffer.concat([Buffer.from('{}'), Buffer.from([0xe2, 0x82])])],
    ['NaN', '{"trajectory_groups":[{"trajectories":[{"reward":NaN}]}]}'],
    ['half a body', '{"trajectory_groups":[{"trajec'],
    ['nothing', ''],
  ])('refuses %s', (_, body) => {
    for (const pieces of [[1], [1000]])
      expect(() => read(body, pieces)).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });

  it('holds no logprobs, and no more than a chunk of the body', () => {
    const reader = new TrajectoryReader(NOW);
    reader.write(
      Buffer.from(
        '{"trajectory_groups":[{"trajectories":[{"messages_and_choices":[{"message":{"role":"a"},"logprobs":{"content":[{}',
      ),
    );
    const tokens = Buffer.from(',{"token":"x","logprob":-1}'.repeat(2000));
    let largest = 0;
    for (let i = 0; i < 1000; i++) {
      reader.write(tokens);
      for (const { text } of reader.take().chunks) largest = Math.max(largest, text.length);
    }
    reader.write(Buffer.from(']}}]}]}]}'));
    reader.end();
    expect(largest).toBeLessThan(2 * 1024 * 1024);
    const [row] = reader.take().rows;
    expect(row).toMatchObject({ numTokens: 2_000_001 });
    expect(row!.document.length).toBeLessThan(300);
  });

  it('refuses a trajectory of too many values, those of logprobs not counted', () => {
    const turns = (values: number, tokens: number) =>
      `[{"message":{"role":"a","x":[${'0,'.repeat(values)}0]},"logprobs":{"content":[${'{},'.repeat(tokens)}{}]}}]`;
    const body = (values: number, tokens: number) =>
      `{"trajectory_groups":[{"trajectories":[{"messages_and_choices":${turns(values, tokens)}}]}]}`;
    expect(read(body(199_000, 300_000)).rows).toHaveLength(1);
    expect(() => read(body(200_000, 0))).toThrow(
      'trajectory_groups[0].trajectories[0] without its logprobs and token ids is over the limit of 200000 values',
    );
  });

  it('refuses a trajectory that is too large without its logprobs, and names the limit', () => {
    const reader = new TrajectoryReader(NOW);
    const text = Buffer.alloc(1024 * 1024, 'x');
    reader.write(Buffer.from('{"trajectory_groups":[{"trajectories":[{"metadata":{"a":"'));
    expect(() => {
      for (let i = 0; i < 33; i++) reader.write(text);
    }).toThrow(
      'trajectory_groups[0].trajectories[0] without its logprobs and token ids is over the limit of 33554432 bytes',
    );
  });
});
