import { ReadableStream } from 'node:stream/web';
import { DamagedBackup } from './backup-file.js';
import type { ByteStream } from './backup-storage.js';

const AGE = 'age-encryption.org/v1\n';

/** Converts to the streams of the library, which are those of browsers. Node has them too. */
const asStream = (bytes: ByteStream) =>
  ReadableStream.from(bytes) as unknown as globalThis.ReadableStream<Uint8Array>;

const age = () => import('age-encryption');

/** Encrypts the bytes for the recipients. Without recipients, they stay unchanged. */
export const encrypted = (bytes: ByteStream, recipients: readonly string[]): ByteStream =>
  recipients.length === 0 ? bytes : encryptedFor(recipients, bytes);

async function* encryptedFor(recipients: readonly string[], bytes: ByteStream): ByteStream {
  const { Encrypter } = await age();
  const encrypter = new Encrypter();
  for (const recipient of recipients)
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new Error(
        `BACKUP_RECIPIENT: ${recipient} is not a public key of age: check it for a wrong letter`,
      );
    }
  yield* (await encrypter.encrypt(asStream(bytes))) as unknown as ByteStream;
}

/**
 * Decrypts the bytes. Unencrypted bytes stay unchanged.
 * @throws DamagedBackup, and Error when no identity opens them.
 */
export async function* decrypted(bytes: ByteStream, identity: string | undefined): ByteStream {
  const { head, all } = await peeked(bytes, AGE.length);
  yield* head.toString('latin1') === AGE ? openEncrypted(all, identity) : all;
}

async function* openEncrypted(all: ByteStream, identity: string | undefined): ByteStream {
  if (identity === undefined)
    throw new Error(
      'the backup is encrypted: name its identity with --identity FILE or BACKUP_IDENTITY',
    );
  const { Decrypter } = await age();
  const decrypter = new Decrypter();
  for (const line of identity.split('\n').map((text) => text.trim()))
    if (line && !line.startsWith('#')) addIdentity(decrypter, line);
  let failed: unknown;
  async function* source(): ByteStream {
    try {
      yield* all;
    } catch (error) {
      throw (failed = error);
    }
  }
  try {
    yield* (await decrypter.decrypt(asStream(source()))) as unknown as ByteStream;
  } catch (error) {
    throw failed ?? explained(error as Error);
  }
}

/** Adds an identity. Messages never contain the line, because it is a secret. */
function addIdentity(decrypter: { addIdentity(text: string): void }, line: string): void {
  try {
    decrypter.addIdentity(line);
  } catch {
    throw new Error(
      'the identity is not an identity of age: it must have a line AGE-SECRET-KEY-1…, as age-keygen prints it',
    );
  }
}

/** Replaces errors of the library by clear ones. */
const explained = ({ message }: Error): Error =>
  /no identity matched/.test(message)
    ? new Error(
        'the identity does not open the backup: it was encrypted for another one, or its head is damaged',
      )
    : new DamagedBackup('it cannot be decrypted');

async function peeked(
  bytes: ByteStream,
  count: number,
): Promise<{ head: Buffer; all: ByteStream }> {
  const source = bytes[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  let gathered = 0;
  while (gathered < count) {
    const { value, done } = await source.next();
    if (done) break;
    pieces.push(value);
    gathered += value.length;
  }
  async function* all(): ByteStream {
    yield* pieces;
    yield* { [Symbol.asyncIterator]: () => source };
  }
  return { head: Buffer.concat(pieces).subarray(0, count), all: all() };
}
