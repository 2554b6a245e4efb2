import { randomUUID } from 'node:crypto';
import type { TestApp } from './app.js';
import { at } from './factories.js';

/* Random documents in many scripts and spellings, and a reader that finds what they say without the service. */

const SCRIPTS = [
  'The quick brown Fox jumps over lazy dogs while Invoice 4711 costs 12.50 in café Straße',
  'Съешь ещё этих мягких французских Булок да выпей чаю Привет',
  'Ξεσκεπάζω την ψυχοφθόρα βδελυγμία Αθήνα καλημέρα',
  'نص حكيم له سر قاطع وذو شأن عظيم مرحبا بالعالم',
  'דג סקרן שט בים מאוכזב ולפתע מצא חברה שלום עולם',
  'ऋषियों को सताने वाले दुष्ट राक्षसों नमस्ते दुनिया',
  '我能吞下玻璃而不伤身体 你好世界 订单已经取消 退款政策',
  'いろはにほへと ちりぬるを カタカナ こんにちは 注文番号',
  '키스의 고유조건은 입술끼리 만나야 하고 안녕하세요 세계',
  'เป็นมนุษย์สุดประเสริฐเลิศคุณค่า สวัสดีชาวโลก',
  '🙂🚀 𐐀𐐁𐐨𐐩 👩‍🚀 émoji',
].map((text) => text.split(' '));

export interface Said {
  /** The JSON that is stored. */
  json: string;
  /** Every text that the document says: strings, keys, numbers, and those of JSON inside strings. */
  texts: string[];
}

type Random = () => number;
const pick = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)]!;

const phrase = (random: Random) =>
  Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
    pick(random, pick(random, SCRIPTS)),
  ).join(pick(random, [' ', ' ', '\n', '/', '"', '\t', ', ', '\\', '_']));

/** Returns a random document. Each character may be spelled as an escape. */
function randomSaid(random: Random): Said {
  const texts: string[] = [];
  return { json: valueOf(random, texts, 0), texts };
}

function valueOf(random: Random, texts: string[], depth: number): string {
  const kind = depth === 0 ? 3 : depth > 3 ? 0 : Math.floor(random() * 6);
  if (kind === 1) {
    const value = String(Math.floor(random() * 1e6));
    texts.push(value);
    return value;
  }
  if (kind === 2) return `[${list(random, () => valueOf(random, texts, depth + 1)).join()}]`;
  if (kind === 3)
    return `{${list(random, () => `${stringOf(random, phrase(random), texts)}:${valueOf(random, texts, depth + 1)}`).join()}}`;
  if (kind === 4) {
    const inner: string[] = [];
    const json = `{"nested":${valueOf(random, inner, depth + 1)}}`;
    texts.push(...inner, 'nested');
    return stringOf(random, json, texts);
  }
  return stringOf(random, phrase(random), texts);
}

const list = (random: Random, item: () => string) =>
  Array.from({ length: 1 + Math.floor(random() * 3) }, item);

function stringOf(random: Random, text: string, texts: string[]): string {
  texts.push(text);
  const often = pick(random, [0, 0, 0.2, 1]);
  return `"${Array.from(text, (sign) => (random() < often ? escapeOf(sign) : plain(sign))).join('')}"`;
}

const plain = (sign: string) => JSON.stringify(sign).slice(1, -1);
const escapeOf = (sign: string) =>
  sign === '/'
    ? String.raw`\/`
    : sign
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join('');

/**
 * Returns a part of what one of the documents says, or something that probably none says. It has no signs of JSON,
 * which the service also finds between texts.
 */
export function randomNeedle(random: Random, documents: readonly Said[]): string {
  const signs = Array.from(
    random() < 0.8 ? pick(random, pick(random, documents).texts) : phrase(random),
  );
  const start = Math.floor(random() * signs.length);
  const needle = signs.slice(start, start + 1 + Math.floor(random() * 14)).join('');
  return /[{}[\]":,]|^$/.test(needle) ? randomNeedle(random, documents) : needle;
}

/** True if one of the texts contains the needle. */
function says({ texts }: Said, needle: string, ignoresCase: boolean): boolean {
  const pattern = new RegExp(
    needle.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`),
    ignoresCase ? 'iu' : 'u',
  );
  return texts.some((text) => pattern.test(text));
}

/** Stores random documents in a project, and compares what a search finds with what they say. */
export function aSaidProject(app: Pick<TestApp, 'post'>, project_id: string, random: Random) {
  const calls = new Map<string, Said>();
  return {
    calls,
    async add(count: number) {
      const made = Array.from({ length: count }, () => [randomUUID(), randomSaid(random)] as const);
      const batch = made.map(
        ([
          id,
          { json },
        ]) => `{"mode":"start","req":{"start":{"project_id":"${project_id}","id":"${id}",
          "op_name":"op","started_at":"${at(Math.floor(random() * 100_000))}","inputs":${json}}}}`,
      );
      const { body } = await app.post('/call/upsert_batch', `{"batch":[${batch.join()}]}`);
      expect(body.res.filter(({ error }: any) => error)).toEqual([]);
      for (const [id, said] of made) calls.set(id, said);
    },
    async delete(count: number) {
      const call_ids = [...calls.keys()].filter(() => random() < 0.3).slice(0, count);
      await app.post('/calls/delete', { project_id, call_ids });
      for (const id of call_ids) calls.delete(id);
    },
    async check(needle: string, case_insensitive: boolean) {
      const $contains = {
        input: { $getField: 'inputs' },
        substr: { $literal: needle },
        case_insensitive,
      };
      const { text } = await app.post('/calls/stream_query', {
        project_id,
        query: { $expr: { $contains } },
        columns: ['id'],
      });
      const found = text.split('\n').filter(Boolean);
      const ids = new Set(found.map((line) => JSON.parse(line).id as string));
      const wrong = [...calls]
        .filter(([id, said]) => ids.has(id) !== says(said, needle, case_insensitive))
        .map(([, { json }]) => json);
      const others = [...ids].filter((id) => !calls.has(id));
      expect({ needle, case_insensitive, wrong, others }).toMatchObject({ wrong: [], others: [] });
    },
  };
}
