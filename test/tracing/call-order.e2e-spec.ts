import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { anEnd, aStart, at } from '../support/factories.js';

/* Tests bodies that are sent again or arrive late (docs/adr/0004-write-path.md, "Rules of merging"). */

const app = useApp();
const calls = useCalls(app);

const start = (more: object = {}) => ({
  mode: 'start',
  req: { start: aStart({ project_id: calls.project_id, id: 'a', ...more }) },
});
const end = (more: object = {}) => ({
  mode: 'end',
  req: { end: anEnd({ project_id: calls.project_id, id: 'a', ...more }) },
});
const batch = (...items: object[]) => app.post('/call/upsert_batch', { batch: items });
const read = () => calls.read('a');

const older = () => [start({ inputs: { n: 1 } }), end({ output: 'old', exception: 'no' })];
const newer = () => [start({ inputs: { n: 2 } }), end({ output: 'new', ended_at: at(2) })];
const NEWER = {
  inputs: { n: 2 },
  output: 'new',
  exception: null,
  ended_at: '2026-01-01T00:00:02.000000Z',
};

describe('an end', () => {
  it.each([
    ['replaces an earlier one', at(1), at(2), 'second'],
    ['replaces one of the same time', at(1), at(1), 'second'],
    ['replaces none that is later', at(2), at(1), 'first'],
  ])('%s', async (_, first, second, output) => {
    await calls.start({ id: 'a' });
    await calls.end({ id: 'a', ended_at: first, output: 'first', summary: { s: 'first' } });
    await calls.end({ id: 'a', ended_at: second, output: 'second', summary: { s: 'second' } });
    expect(await read()).toMatchObject({ output, summary: { s: output } });
    await batch(end({ id: 'b', ended_at: first, output: 'first' }), end({ id: 'b', ended_at: second, output: 'second' }), start({ id: 'b' })); // prettier-ignore
    expect((await calls.read('b')).output).toBe(output);
  });

  it('compares times and not how they are spelled', async () => {
    await calls.start({ id: 'a' });
    await calls.end({ id: 'a', ended_at: '2026-01-01T01:00:02+01:00', output: 'new' });
    await batch(end({ ended_at: '2026-01-01T00:00:01.999Z', output: 'old' }));
    await batch(
      end({ ended_at: '2026-01-01T00:00:03Z', output: 'newest' }),
      end({ ended_at: '2026-01-01T01:00:02.5+01:00', output: 'old' }),
    );
    expect((await read()).output).toBe('newest');
  });

  it('that comes before its start, and again after a later one, loses no start', async () => {
    await batch(end({ ended_at: at(2), output: 'new' }));
    await batch(...older());
    expect(await read()).toMatchObject({ inputs: { n: 1 }, output: 'new' });
  });
});

describe('a batch that is sent again', () => {
  it.each(['older, newer, older', 'newer, older'])('brings nothing back: %s', async (order) => {
    for (const one of order.split(', ')) await batch(...(one === 'older' ? older() : newer()));
    expect(await read()).toMatchObject(NEWER);
  });

  it('brings nothing back when all come at once', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `c${i}`);
    const of = (id: string, items: object[]) =>
      items.map((item: any) => ({ ...item, req: { [item.mode]: { ...item.req[item.mode], id } } }));
    await Promise.all(
      ids.flatMap((id) => [
        batch(...of(id, newer())),
        batch(...of(id, older()).toReversed()),
        batch(...of(id, older())),
      ]),
    );
    for (const id of ids) expect(await calls.read(id)).toMatchObject(NEWER);
  });

  it('brings nothing back of calls that are stored whole', async () => {
    const complete = (more: object) =>
      app.post(`/v2/${calls.project_id}/calls/complete`, {
        batch: [aStart({ project_id: calls.project_id, id: 'a', ended_at: at(1), ...more })],
      });
    const [first, second] = [
      { inputs: { n: 1 }, output: 'old', exception: 'no' },
      { inputs: { n: 2 }, output: 'new', ended_at: at(2) },
    ];
    for (const one of [first, second, first]) expect((await complete(one)).status).toBe(200);
    expect(await read()).toMatchObject(NEWER);
  });

  it('leaves a start that came later, and an ordinary start goes on to replace', async () => {
    await calls.start({ id: 'a', inputs: { n: 1 } });
    await calls.end({ id: 'a', ended_at: at(2), output: 'new' });
    await calls.start({ id: 'a', inputs: { n: 2 } });
    expect(await read()).toMatchObject({ inputs: { n: 2 }, output: 'new' });
  });
});

describe('a name that /call/update has set', () => {
  const update = (display_name: string | null) =>
    app.post('/call/update', { project_id: calls.project_id, call_id: 'a', display_name });

  it.each(['patched', null])('stays %j when the start comes again', async (name) => {
    await calls.start({ id: 'a', display_name: 'first' });
    await update(name);
    await calls.start({ id: 'a', display_name: 'first' });
    await batch(...older(), start({ display_name: 'first' }));
    expect(await read()).toMatchObject({ display_name: name, inputs: {} });
    await update('again');
    expect((await read()).display_name).toBe('again');
  });
});
