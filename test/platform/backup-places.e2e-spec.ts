import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { DamagedBackup } from '../../src/platform/backup/backup-file.js';
import { decrypted, encrypted } from '../../src/platform/backup/encryption.js';
import { unzipped, zipped } from '../../src/platform/backup/gzip.js';
import { locateBackup, storageAt } from '../../src/platform/backup/storage-location.js';
import { backupName, prune, storedBackups } from '../../src/platform/backup/stored-backups.js';
import { refuse, startS3 } from '../support/s3-server.js';

const MIB = 1024 * 1024;
const SECRET = 'the-secret-key';

async function* pieces(...of: Uint8Array[]) {
  yield* of;
}

async function gathered(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of bytes) all.push(piece);
  return Buffer.concat(all);
}

describe('a bucket', () => {
  let s3: Awaited<ReturnType<typeof startS3>>;
  beforeEach(async () => {
    s3 = await startS3();
  });
  afterEach(() => s3.stop());
  const settings = () => ({
    endpoint: s3.url,
    region: 'us-east-1',
    accessKeyId: 'key-id',
    secretAccessKey: SECRET,
    sessionToken: undefined,
    isPathStyle: true,
  });
  const place = () => storageAt('s3://bucket/some/where', settings());

  it('keeps a small file as it came, and lists more than a page of them', async () => {
    const names = ['skein-1&2', 'skein-2', 'skein-3', 'skein-4', 'skein-5'];
    for (const name of names) await place().write(name, pieces(Buffer.from(name)));
    await place().write('wal/one', pieces(Buffer.from('1')));
    expect((await place().list()).map(({ name }) => name)).toEqual(names);
    expect(await place().list('wal')).toMatchObject([{ name: 'one', bytes: 1 }]);
    expect(await gathered(place().read('skein-1&2'))).toEqual(Buffer.from('skein-1&2'));
    expect([await place().has('skein-2'), await place().has('skein-9')]).toEqual([true, false]);
    await place().remove('skein-2');
    expect(s3.objects.has('some/where/skein-2')).toBe(false);
  });

  it('gets a large file in parts, of which none is larger than 16 MiB', async () => {
    const file = randomBytes(35 * MIB);
    const cut = Array.from({ length: 35 }, (_, at) => file.subarray(at * MIB, (at + 1) * MIB));
    expect(await place().write('skein-large', pieces(...cut))).toBe(file.length);
    expect(s3.requests.filter((one) => one.includes('partNumber'))).toHaveLength(3);
    expect(s3.objects.get('some/where/skein-large')!.equals(file)).toBe(true);
    expect(s3.uploads.size).toBe(0);
  });

  it('has neither object nor parts of an upload that was interrupted', async () => {
    const interrupted = new AbortController();
    async function* bytes() {
      for (let at = 0; at < 50; at++) {
        if (at === 45) interrupted.abort(new Error('SIGTERM: no backup was made'));
        yield Buffer.alloc(MIB);
      }
    }
    const cut = place().write('skein-cut', bytes(), interrupted.signal);
    await expect(cut).rejects.toThrow('SIGTERM: no backup was made');
    expect(s3.requests.join()).toContain('partNumber=1');
    expect([s3.objects.size, s3.uploads.size]).toEqual([0, 0]);
  });

  it('has no object when the server fails to put the parts together', async () => {
    s3.fail = (request, response) => {
      if (request.method !== 'POST' || !request.url!.includes('uploadId')) return false;
      response.end('<Error><Code>InternalError</Code><Message>told late</Message></Error>');
      return true;
    };
    const file = Array.from({ length: 20 }, () => Buffer.alloc(MIB));
    await expect(place().write('skein-large', pieces(...file))).rejects.toThrow('told late');
    expect([s3.objects.size, s3.uploads.size]).toEqual([0, 0]);
  });

  it('is asked again when it is busy, and told when it refuses, without the secret', async () => {
    let busy = 2;
    s3.fail = (_, response) => busy-- > 0 && Boolean(refuse(response, 503, 'SlowDown'));
    await place().write('skein-1', pieces(Buffer.from('1')));
    expect(s3.requests).toHaveLength(3);
    s3.fail = (_, response) => Boolean(refuse(response, 403, 'AccessDenied'));
    const error = await place()
      .list()
      .then(() => new Error('nothing was refused'))
      .catch((refusal: Error) => refusal);
    expect(error.message).toBe(
      's3://bucket/ (GET ?list-type): the server answers 403 AccessDenied, told why',
    );
    expect(error.stack).not.toContain(SECRET);
    const without = storageAt('s3://bucket', { ...settings(), secretAccessKey: undefined });
    await expect(without.list()).rejects.toThrow('needs AWS_ACCESS_KEY_ID and AWS_SECRET');
  });

  it('sends on from where a download was cut', async () => {
    const file = randomBytes(MIB);
    s3.objects.set('some/where/skein-1', file);
    let cuts = 2;
    s3.fail = (request, response) => {
      if (request.method !== 'GET' || cuts === 0) return false;
      const from = Number(/bytes=(\d+)/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const etag = { etag: '"one"', 'content-length': file.length - from };
      response.writeHead(from > 0 ? 206 : 200, etag);
      response.write(file.subarray(from, from + cuts * 100_000), () => request.socket.destroy());
      cuts--;
      return true;
    };
    expect((await gathered(place().read('skein-1'))).equals(file)).toBe(true);
    expect(s3.requests).toHaveLength(3);
  });

  it('is read slowly from a server that closes each connection', async () => {
    const file = randomBytes(4 * MIB);
    s3.objects.set('some/where/skein-1', file);
    s3.fail = (_, response) => !response.setHeader('connection', 'close');
    const all: Uint8Array[] = [];
    for await (const piece of place().read('skein-1')) {
      all.push(piece);
      await delay(5); // as a disk or PostgreSQL takes it
    }
    expect(Buffer.concat(all).equals(file)).toBe(true);
    expect(s3.requests).toHaveLength(1);
  });

  it('is pruned of backups that are not kept, and of uploads that nobody ends', async () => {
    const [old, young] = [new Date('2026-01-01T02:00:00Z'), new Date('2026-02-01T02:00:00Z')];
    for (const [at, isEncrypted] of [
      [old, false],
      [young, true],
    ] as const)
      await place().write(backupName(at, isEncrypted), pieces(Buffer.from('x')));
    await place().write('other.txt', pieces(Buffer.from('x')));
    for (const [id, key, begun] of [
      ['a', 'skein-a', 0],
      ['b', 'skein-b', Date.now()],
      ['c', 'other', 0],
    ] as const)
      s3.uploads.set(id, { key: `some/where/${key}`, parts: [], begun: new Date(begun) });
    expect(await storedBackups(place())).toMatchObject([{ at: young }, { at: old }]);
    await prune(place(), { daily: 1, weekly: 0, monthly: 0 });
    expect([...s3.objects.keys()].toSorted()).toEqual([
      'some/where/other.txt',
      'some/where/skein-20260201T020000Z.skein.age',
    ]);
    expect([...s3.uploads.keys()]).toEqual(['b', 'c']);
  });

  it('is named with an object in it', () => {
    expect(locateBackup('s3://bucket/a/b.skein', settings()).name).toBe('b.skein');
    expect(() => locateBackup('s3://bucket/', settings())).toThrow('names no object');
  });
});

describe('encryption', () => {
  const file = randomBytes(300_000);
  const damage = (bytes: Buffer, at: number) => {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    return changed;
  };

  it('is opened by an identity of any recipient, and by no other', async () => {
    const [one, other, wrong] = await Promise.all([1, 2, 3].map(() => generateIdentity()));
    const recipients = await Promise.all([one!, other!].map(identityToRecipient));
    const secret = await gathered(encrypted(pieces(file), recipients));
    expect(secret.subarray(0, 21).toString()).toBe('age-encryption.org/v1');
    for (const identity of [one!, `# made by age-keygen\n${other}\n`])
      expect((await gathered(decrypted(pieces(secret), identity))).equals(file)).toBe(true);
    const open = (identity?: string) => gathered(decrypted(pieces(secret), identity));
    await expect(open(wrong)).rejects.toThrow('the identity does not open the backup');
    await expect(open()).rejects.toThrow('the backup is encrypted: name its identity');
    await expect(open('AGE-SECRET-KEY-1WRONG')).rejects.toThrow(
      /^the identity is not an identity of age/,
    );
    for (const at of [150_000, secret.length - 1])
      await expect(gathered(decrypted(pieces(damage(secret, at)), one))).rejects.toThrow(
        DamagedBackup,
      );
    await expect(gathered(decrypted(pieces(secret.subarray(0, 70_000)), one))).rejects.toThrow(
      DamagedBackup,
    );
  });

  it('leaves what is not encrypted as it is, and says what its source says', async () => {
    const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    const plain = await gathered(
      unzipped(decrypted(encrypted(zipped(pieces(file)), []), undefined)),
    );
    expect(sum(plain)).toBe(sum(file));
    async function* failing() {
      yield Buffer.from('age-encryption.org/v1\n');
      throw new Error('the disk is gone');
    }
    const identity = await generateIdentity();
    await expect(gathered(decrypted(failing(), identity))).rejects.toThrow('the disk is gone');
    await expect(gathered(encrypted(pieces(file), ['age1wrong']))).rejects.toThrow(
      'age1wrong is not a public key of age',
    );
  });
});
