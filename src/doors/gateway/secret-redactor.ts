/** What stands in the place of a key. */
const REDACTED_TEXT = '[key]';
/** A shorter one, such as `none`, is a word that answers may hold, and no secret. */
const MIN_SECRET = 16;

/**
 * Takes the key that a provider was sent out of what it answers, whatever the pieces that it comes in. The beginning of a key at
 * the end of a piece waits for the next one; no event ends so.
 */
export class SecretRedactor {
  private held: Buffer = Buffer.alloc(0);
  private readonly secret: Buffer | null;

  constructor(private readonly key: string | null) {
    this.secret = key !== null && key.length >= MIN_SECRET ? Buffer.from(key, 'latin1') : null;
  }

  /** The bytes that may go on. */
  pass(piece: Buffer): Buffer {
    const { secret } = this;
    if (secret === null) return piece;
    const bytes = this.held.length === 0 ? piece : Buffer.concat([this.held, piece]);
    const clean = bytes.includes(secret)
      ? Buffer.from(bytes.toString('latin1').replaceAll(this.key!, REDACTED_TEXT), 'latin1')
      : bytes;
    const end = partialSecretAt(clean, secret);
    this.held = clean.subarray(end);
    return end === clean.length ? clean : clean.subarray(0, end);
  }

  /** What still waits, when nothing more comes. */
  rest(): Buffer {
    const { held } = this;
    this.held = Buffer.alloc(0);
    return held;
  }

  /** Of a text for people or of a header, keys of any length. */
  text(text: string): string {
    return this.key === null ? text : text.replaceAll(this.key, REDACTED_TEXT);
  }
}

/** Where the bytes end in a beginning of the secret, else their length. */
function partialSecretAt(bytes: Buffer, secret: Buffer): number {
  let at = Math.max(0, bytes.length - secret.length + 1);
  for (;;) {
    at = bytes.indexOf(secret[0]!, at);
    if (at < 0) return bytes.length;
    if (bytes.compare(secret, 0, bytes.length - at, at) === 0) return at;
    at++;
  }
}
