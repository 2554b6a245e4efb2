import { clientAddress, FailedAttempts } from './failed-attempts.js';

const from = (ip: string) => clientAddress({ ip, socket: { remoteAddress: '9.9.9.9' } as never });

it.each([
  ['1.2.3.4', '1.2.3.4'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::ffff:102:304', '1.2.3.4'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::7', '2001:db8:1:2::/64'],
  ['2001:db8::7', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unknown', '9.9.9.9'],
])('%s is counted as %s', (ip, name) => expect(from(ip)).toBe(name));

describe('past the limit of an address', () => {
  const attempts = new FailedAttempts();
  const asked: string[][] = [];
  const lookUp = async (hashes: string[]) => {
    asked.push(hashes);
    return new Map(hashes.filter((hash) => hash.startsWith('good')).map((hash) => [hash, hash]));
  };
  const find = (hash: string) =>
    attempts.find(hash, 'a', lookUp).catch((error: { code: string }) => error.code);

  it('guesses share one look-up, in which a good key is found', async () => {
    const guesses = await Promise.all(Array.from({ length: 20 }, (_, i) => find(`bad${i}`)));
    expect(guesses).toEqual(Array(20).fill(undefined));
    expect(asked.splice(0)).toHaveLength(20);

    const found = await Promise.all([
      ...Array.from({ length: 200 }, (_, i) => find(`worse${i}`)),
      find('good'),
    ]);
    expect(asked).toHaveLength(1);
    expect(found.pop()).toBe('good');
    expect(new Set(found)).toEqual(new Set(['rate_limited']));
  });

  it('no more than 1000 wait, and those refused cost no look-up', async () => {
    asked.length = 0;
    await Promise.all(Array.from({ length: 1500 }, (_, i) => find(`more${i}`)));
    expect(asked.map(({ length }) => length)).toEqual([1000]);
  });

  it('another address is looked up at once, and a good key uses up nothing', async () => {
    for (let i = 0; i < 40; i++)
      expect(await attempts.find(`good${i}`, 'b', lookUp)).toBe(`good${i}`);
  });
});
