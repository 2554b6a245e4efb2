import { useApp } from '../support/app.js';
import { ran } from '../support/background.js';
import { until } from '../support/until.js';

const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

const project_id = 'acme/older';
const START = Date.parse('2026-03-01T10:00:00Z');
const done = async (path: string, body: object) => {
  const answer = await app.post(path, body);
  expect([answer.text, answer.status]).toEqual([answer.text, 200]);
  return answer.body;
};

const USAGES: object[] = [
  { 'gpt-4o': { prompt_tokens: 100, completion_tokens: 7, requests: 2 } },
  { claude: { input_tokens: 1000, output_tokens: 5, cache_read_input_tokens: 900 } },
  { 'gpt-4o': { prompt_tokens: 3, completion_tokens: 'many' }, 'a\0b': { prompt_tokens: 4 } },
  { none: null },
  {},
];
const WEAVE = { source: 'python-sdk', client_version: '0.53.2' };

const aCall = (n: number) => ({
  project_id,
  id: `older-${n}`,
  trace_id: `trace-${n}`,
  op_name: 'op',
  started_at: new Date(START + n * 1000).toISOString(),
  ended_at: new Date(START + n * 1000 + 500).toISOString(),
  inputs: {},
  // two calls report each response
  output: { response_metadata: { id: `msg_${Math.floor(n / 10)}_${n % 5}` } },
  attributes: n % 2 === 0 ? { weave: WEAVE } : {},
  summary: { usage: USAGES[n % USAGES.length] },
});

/** Reads the usage of the calls through every operation that returns it. */
async function answers() {
  const { calls } = await done('/calls/query', { project_id, include_costs: true });
  const metrics = ['input_tokens', 'output_tokens', 'total_tokens'].map((metric) => ({ metric }));
  const stats = await done('/calls/stats', {
    project_id,
    start: new Date(START - 60_000).toISOString(),
    end: new Date(START + 7_200_000).toISOString(),
    granularity: 300,
    usage_metrics: metrics,
  });
  const call_ids = ['older-0', 'older-1', 'older-2', 'older-3', 'older-11'];
  return {
    calls,
    stats,
    usage: await done('/calls/usage', { project_id, call_ids, include_costs: true }),
    explained: await done('/cost/explain', { project_id, call_ids }),
  };
}

describe('calls of an older build', () => {
  it('are read in the background, and count as if they had been stored by this one', async () => {
    const batch = Array.from({ length: 1100 }, (_, n) => aCall(n));
    await done('/v2/acme/older/calls/complete', { batch });
    const stored = await answers();
    expect(stored.usage.call_usage['older-0']['gpt-4o'].prompt_tokens).toBe(100);
    expect(stored.usage.call_usage['older-1'].claude.prompt_tokens).toBe(1000);
    expect(stored.usage.call_usage['older-11'].claude.prompt_tokens).toBe(1000);
    await app.query(
      `UPDATE calls SET usage = NULL, response_id = NULL, counts_gross = false, has_unread_usage = true WHERE project_id = $1`,
      [project_id],
    );
    await ran(app.url, 'usage of older calls');
    expect(await (await fetch(`${app.url}/ready`)).json()).toMatchObject({
      unfilled_rows: { usage: 0 },
    });
    expect(await answers()).toEqual(stored);
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).toContain('skein_unfilled_rows{what="usage"} 0');
    // a repeated end is read when it is stored
    await app.query(`UPDATE calls SET has_unread_usage = true WHERE project_id = $1`, [project_id]);
    const again = aCall(0);
    again.summary = { usage: { 'gpt-4o': { prompt_tokens: 5, completion_tokens: 6 } } };
    await done('/v2/acme/older/calls/complete', { batch: [again] });
    const { calls } = await done('/calls/query', {
      project_id,
      filter: { call_ids: [again.id] },
      include_costs: true,
    });
    expect(calls[0].summary.svc.costs['gpt-4o']).toMatchObject({ prompt_tokens: 5 });
  });

  it('are read again where another reader made their usage, also by what is left of old ones', async () => {
    const stored = await answers();
    const other = JSON.stringify([{ llm_id: 'gpt-4o', prompt_tokens: 1 }]);
    // old calls have lost their attributes, but the way their client counts was stored before
    await app.query(
      `WITH locked AS MATERIALIZED (SELECT id FROM calls WHERE project_id = $1 AND usage IS NOT NULL ORDER BY id FOR UPDATE)
       UPDATE calls SET usage = $2, attributes = '{}', has_unread_usage = false
       WHERE project_id = $1 AND id = ANY(ARRAY(SELECT id FROM locked))`,
      [project_id, other],
    );
    await ran(app.url, 'usage of older calls');
    const again = await answers();
    expect([again.usage, again.explained, again.stats]).toEqual([
      stored.usage,
      stored.explained,
      stored.stats,
    ]);
  });

  it('keep the attributes that say how they are read until they are', async () => {
    const id = 'kept';
    await done('/v2/acme/older/calls/complete', {
      batch: [
        { ...aCall(6), id, started_at: '2020-01-01T00:00:00Z', ended_at: '2020-01-01T00:00:01Z' },
      ],
    });
    await app.query(
      `UPDATE calls SET usage = NULL, counts_gross = false, has_unread_usage = true WHERE project_id = $1 AND id = $2`,
      [project_id, id],
    );
    await done('/retention/set', { project_id, payload_days: 30 });
    const read = async () =>
      (
        await app.query(
          `SELECT attributes::text AS attributes, usage, counts_gross FROM calls WHERE id = $1`,
          [id],
        )
      )[0];
    await until(async () => (await read()).attributes === '{}');
    expect(await read()).toMatchObject({ counts_gross: true, usage: [{ llm_id: 'claude' }] });
  });
});
