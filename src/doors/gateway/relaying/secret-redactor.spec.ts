import { SecretRedactor } from './secret-redactor.js';

const KEY = 'sk-secret-of-the-operator';
const TEXT = `a ${KEY} sk-se ${KEY}${KEY}, sk-secret-of-the-operato`;
const CLEAN = 'a [key] sk-se [key][key], sk-secret-of-the-operato';

function passed(size: number, key: string | null, text = TEXT): string {
  const blot = new SecretRedactor(key);
  const pieces: Buffer[] = [];
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size)
    pieces.push(blot.pass(bytes.subarray(at, at + size)));
  return Buffer.concat([...pieces, blot.rest()]).toString();
}

it.each([1, 2, 5, 24, 25, 26, 1000])('takes a key out of pieces of %i bytes', (size) => {
  expect(passed(size, KEY)).toBe(CLEAN);
});

it('leaves other bytes as they are, and words that are no secret', () => {
  expect(passed(3, KEY, 'ä sk-secret ö\ud83d\ude00')).toBe('ä sk-secret ö\ud83d\ude00');
  expect(passed(3, 'none', 'none of it')).toBe('none of it');
  expect(passed(3, null)).toBe(TEXT);
});

it('holds back no whole event', () => {
  const event = Buffer.from('data: {"s":"sk-"}\n\n');
  expect(new SecretRedactor(KEY).pass(event)).toEqual(event);
});

it('takes keys of any length out of what is said of a refusal', () => {
  expect(new SecretRedactor('none').text('the key none')).toBe('the key [key]');
});
