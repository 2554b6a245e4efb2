import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { memberElements, valueAt } from '../../src/platform/json/json-text.js';
import { linesOf, useApp } from '../support/app.js';

const FOLDER = '../shared/data/traces';
const files = existsSync(FOLDER)
  ? readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
  : [];

/** An observation of a recorded trace. */
interface Observation {
  id: string;
  parentObservationId: string | null;
  startTime: string;
  endTime: string | null;
  name: string | null;
  level: string;
  statusMessage: string | null;
  model: string | null;
  usageDetails: Record<string, number> | null;
}

if (files.length === 0) console.warn(`skipped: there are no recorded traces in ${FOLDER}`);
const describeTraces = files.length > 0 ? describe : describe.skip;

describeTraces('real traces', () => {
  const app = useApp();

  it.each(files.length > 0 ? files : ['none'])(
    '%s comes back call by call, byte for byte',
    async (file) => {
      const text = readFileSync(`${FOLDER}/${file}`, 'utf8');
      const texts = memberElements(text, 'observations');
      const observations = texts.map((observation) => JSON.parse(observation) as Observation);
      const project_id = `traces/${file.replace('.json', '')}`;
      const trace_id = JSON.parse(text).trace.id;

      const items = observations.flatMap((observation, i) => {
        const start = {
          project_id,
          id: observation.id,
          trace_id,
          parent_id: observation.parentObservationId,
          op_name: observation.name ?? 'unnamed',
          started_at: observation.startTime,
        };
        const isError = observation.level === 'ERROR';
        const end = {
          project_id,
          id: observation.id,
          ended_at: observation.endTime ?? observation.startTime,
          exception: isError ? (observation.statusMessage ?? 'error') : null,
          summary: observation.model
            ? { usage: { [observation.model]: observation.usageDetails ?? {} } }
            : {},
        };
        const withText = (part: object, name: string, json: string) =>
          `${JSON.stringify(part).slice(0, -1)},"${name}":${json}}`;
        return [
          `{"mode":"end","req":{"end":${withText(end, 'output', valueAt(texts[i]!, 'output'))}}}`,
          `{"mode":"start","req":{"start":${withText(start, 'inputs', `{"input":${valueAt(texts[i]!, 'input')}}`)}}}`,
        ];
      });
      // sends children before parents and ends before starts
      const answer = await app.post(
        '/call/upsert_batch',
        `{"batch":[${items.toReversed().join(',')}]}`,
      );
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('error');

      const stream = await app.post('/calls/stream_query', { project_id });
      const calls = new Map(
        linesOf(stream).map((call, i) => [call.id, { call, line: stream.text.split('\n')[i]! }]),
      );
      expect(calls.size).toBe(observations.length);
      observations.forEach((observation, i) => {
        const { call, line } = calls.get(observation.id)!;
        expect(call).toMatchObject({ trace_id, parent_id: observation.parentObservationId });
        expect(call.started_at.slice(0, 23)).toBe(observation.startTime.slice(0, 23));
        expect(valueAt(line, 'inputs', 'input')).toBe(onOneLine(valueAt(texts[i]!, 'input')));
        const output = valueAt(texts[i]!, 'output');
        expect(valueAt(line, 'output')).toBe(onOneLine(output));
        expect(call.summary.svc.status).toBe(observation.level === 'ERROR' ? 'error' : 'success');
        if (observation.model) expect(Object.keys(call.summary.usage)).toEqual([observation.model]);
      });
      // single reads keep the line breaks too
      for (const [i, observation] of observations.entries()) {
        const { text: read } = await app.post('/call/read', { project_id, id: observation.id });
        expect(valueAt(read, 'call', 'inputs', 'input')).toBe(valueAt(texts[i]!, 'input'));
        expect(valueAt(read, 'call', 'output')).toBe(valueAt(texts[i]!, 'output'));
      }
    },
  );
});

const onOneLine = (json: string) => json.replaceAll(/[\r\n]/g, ' ');
