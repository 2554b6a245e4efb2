import type { Locator, Page } from 'playwright-core';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';
import { at, record, type Recorded } from './support/record.js';

const PROJECT = 'acme/reading';
const SENTENCE =
  'The customer asks why the second parcel, which was sent on Tuesday, has not come yet';
const TRACEBACK = [
  'Traceback (most recent call last):',
  '  File "/srv/agent/tools/search.py", line 214, in run_with_a_long_name',
  '    return self.client.post(self.endpoint, json=payload, timeout=self.timeout)',
  'ValueError: the index "parcels-2026" does not exist',
].join('\n');
/** An image of 2 × 1 pixels, red and blue. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4zwAE/wEHAAH/4iOeWQAAAABJRU5ErkJggg==';
const SVG = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'.repeat(
    2,
  ),
).toString('base64');

describeConsole('reading what calls hold', () => {
  let console: Console;
  beforeAll(async () => void (console = await openConsole()));
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const store = (...calls: Recorded[]) => record(console.app, PROJECT, calls);
  const open = (path: string, look = {}) => console.open(`/p/${PROJECT}/${path}`, look);
  const pane = (page: Page) => page.getByRole('region', { name: 'Call', exact: true });
  /** True when nothing of the element is cut off at its right. */
  const isReadable = (found: Locator) =>
    found.evaluate((element) => {
      const box = element.getBoundingClientRect();
      const around = element.closest('[role="region"]')!.getBoundingClientRect();
      return element.scrollWidth <= element.clientWidth + 1 && box.right <= around.right;
    });

  it.each([1280, 390])(
    'wraps values of a sentence at %i px, and shows lines as lines',
    async (width) => {
      const id = `values-${width}`;
      await store({
        id,
        trace_id: id,
        op_name: 'answer',
        started_at: at(0),
        ms: 5,
        inputs: { sentence: SENTENCE, path: String.raw`C:\new\table` },
        exception: TRACEBACK,
      });
      const page = await open(`traces/${id}`, { width });
      await page.getByRole('tab', { name: 'Data' }).click();
      const documents = page.getByRole('region', { name: 'Documents' });
      const sentence = documents.getByText(SENTENCE);
      await sentence.waitFor();
      expect(await isReadable(sentence)).toBe(true);
      const traceback = documents.getByText('ValueError');
      expect(await traceback.innerText()).toBe(TRACEBACK);
      expect(await isReadable(traceback)).toBe(true);
      await documents.getByText(String.raw`"C:\\new\\table"`).waitFor(); // backslashes are no line ends: the text is shown as it was sent
    },
  );

  it('opens a long value in its place', async () => {
    const text = `${'word '.repeat(2000)}the end`;
    await store({
      id: 'long',
      trace_id: 'long',
      op_name: 'answer',
      started_at: at(0),
      ms: 5,
      output: { text },
    });
    const page = await open('traces/long');
    await page.getByRole('button', { name: 'show all 10 kB' }).click();
    await pane(page).getByText('the end').waitFor();
    await page.getByRole('tab', { name: 'Data', selected: true }).waitFor();
    await page
      .getByRole('region', { name: 'Documents' })
      .getByText('Output')
      .waitFor({ state: 'attached' });
  });

  const chat = (page: Page) => page.getByRole('list', { name: 'Conversation' });
  const QUESTION = { messages: [{ role: 'user', content: 'Where is my parcel?' }] };

  it.each<[string, object, string[]]>([
    ['an exception', { inputs: QUESTION, exception: TRACEBACK }, ['ValueError: the index']],
    ['a text', { inputs: QUESTION, output: 'It comes today.' }, ['It comes today.']],
    [
      'the output of OpenAI Responses, with instructions',
      {
        inputs: { input: 'Where is my parcel?', instructions: 'Be kind.' },
        output: {
          output: [
            { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I look it up.' }] },
            { type: 'function_call', name: 'find', arguments: '{"n":7}' },
            {
              type: 'message',
              role: 'assistant',
              content: [{ type: 'output_text', text: 'Today.' }],
            },
          ],
        },
      },
      ['Be kind.', 'Where is my parcel?', 'I look it up.', 'find({"n":7})', 'Today.'],
    ],
    [
      'tool use of Anthropic and its results, with system',
      {
        inputs: {
          system: 'Be brief.',
          messages: [
            ...QUESTION.messages,
            {
              role: 'assistant',
              content: [{ type: 'tool_use', id: 't', name: 'find', input: { n: 7 } }],
            },
            {
              role: 'user',
              content: [
                {
                  type: 'tool_result',
                  tool_use_id: 't',
                  content: [{ type: 'text', text: 'In Rome' }],
                },
              ],
            },
          ],
        },
        output: { role: 'assistant', content: [{ type: 'text', text: 'It is in Rome.' }] },
      },
      ['Be brief.', 'find({"n":7})', 'In Rome', 'It is in Rome.'],
    ],
  ])('shows %s in Chat, which is the default', async (name, rest, texts) => {
    const id = name.replaceAll(/\W/g, '-');
    await store({ id, trace_id: id, op_name: 'chat', started_at: at(0), ms: 5, ...rest });
    const page = await open(`traces/${id}`);
    for (const text of texts) await chat(page).getByText(text).first().waitFor();
  });

  it('draws images, and neither runs nor fetches anything in what is called one', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      { type: 'image_url', image_url: { url: 'https://example.com/seen.png' } },
      { type: 'image_url', image_url: { url: `data:image/svg+xml;base64,${SVG}` } },
    ];
    await store({
      id: 'images',
      trace_id: 'images',
      op_name: 'chat',
      started_at: at(0),
      ms: 5,
      inputs: { messages: [{ role: 'user', content }] },
      output: 'A flag.',
    });
    const page = await open('traces/images');
    const images = chat(page).getByRole('img', { name: 'image/png' });
    await images.nth(1).waitFor();
    await page.waitForFunction(() =>
      [...document.querySelectorAll('canvas[role="img"]')].every(
        (one) => (one as HTMLCanvasElement).width === 2,
      ),
    );
    const pixels = await images
      .first()
      .evaluate((one: HTMLCanvasElement) => [
        ...one.getContext('2d')!.getImageData(0, 0, 2, 1).data,
      ]);
    expect(pixels).toEqual([255, 0, 0, 255, 0, 0, 255, 255]);
    await chat(page).getByText('https://example.com/seen.png').waitFor();
    await chat(page).getByText('data:image/svg+xml').waitFor();
    expect(await images.count()).toBe(2);
    expect(await violations(page)).toEqual([]);
  });

  it('shows a thread as text: plain questions, tools folded, what failed, and never null', async () => {
    const turn = (n: number, rest: object): Recorded => ({
      id: `turn${n}`,
      trace_id: `turn${n}`,
      turn_id: `turn${n}`,
      thread_id: 'parcel',
      op_name: 'agent',
      started_at: at(n * 10),
      ms: 900,
      ...rest,
    });
    const step = (n: number, op_name: string, rest: object): Recorded => ({
      id: `${op_name}${n}`,
      trace_id: `turn${n}`,
      parent_id: `turn${n}`,
      op_name,
      started_at: at(n * 10),
      ms: 20,
      ...rest,
    });
    await store(
      turn(1, {
        inputs: { question: 'Where is my parcel?' },
        output: { answer: 'In Rome.' },
        summary: { usage: { house: { prompt_tokens: 10, completion_tokens: 5 } } },
      }),
      step(1, 'find_parcel', { inputs: { n: 7 }, output: 'Rome' }),
      step(1, 'weather', { exception: 'Timeout: no weather' }),
      turn(2, { inputs: { question: 'And when does it come?' }, exception: 'RateLimit: too many' }),
      turn(3, { inputs: { question: 'Hello?' }, ms: undefined }),
    );
    await console.app.post('/feedback/create', {
      project_id: PROJECT,
      svc_ref: `svc:///${PROJECT}/call/turn1`,
      feedback_type: 'svc.reaction.1',
      payload: { emoji: '👍' },
    });
    const page = await open('threads/parcel');
    const turns = page.getByRole('list', { name: 'Turns' });
    for (const text of [
      'Where is my parcel?',
      'In Rome.',
      'And when does it come?',
      'RateLimit: too many',
    ])
      await turns.getByText(text, { exact: true }).waitFor();
    await turns.getByText('Timeout: no weather').waitFor();
    await turns.getByText('Still running').waitFor();
    await turns.getByRole('img', { name: 'Good' }).waitFor();
    await turns.getByText('2 calls: find_parcel, weather').click();
    await turns.getByRole('link', { name: 'find_parcel' }).waitFor();
    const text = await turns.innerText();
    for (const raw of ['null', '{"question"', '{"answer"']) expect(text).not.toContain(raw);
    expect(await violations(page)).toEqual([]);
    await turns.getByRole('link', { name: 'find_parcel' }).click();
    await page.waitForURL(/call=find_parcel1/);
  });
});
