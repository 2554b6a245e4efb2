const REDACTED_TEXT = '[key]';
/** Shorter keys are not redacted in answers: they may be ordinary words, such as `none`. */
const MIN_SECRET = 16;

/**
 * Replaces the provider's key in the provider's answer, even when the key is split over several pieces. If a piece ends
 * with the beginning of the key, these bytes wait for the next piece. Events end with a line feed and never wait.
 */
export class SecretRedactor {
  private held: Buffer = Buffer.alloc(0);
  private readonly secret: Buffer | null;

  constructor(private readonly key: string | null) {
    this.secret = key !== null && key.length >= MIN_SECRET ? Buffer.from(key, 'latin1') : null;
  }

  /** Returns the bytes that can be sent now. */
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

  /** Returns the bytes that are still held when no more pieces come. */
  rest(): Buffer {
    const { held } = this;
    this.held = Buffer.alloc(0);
    return held;
  }

  /** Replaces keys of any length, in a message or a header. */
  text(text: string): string {
    return this.key === null ? text : text.replaceAll(this.key, REDACTED_TEXT);
  }
}

/** Returns the position of a beginning of the secret at the end of the bytes, else their length. */
function partialSecretAt(bytes: Buffer, secret: Buffer): number {
  let at = Math.max(0, bytes.length - secret.length + 1);
  for (;;) {
    at = bytes.indexOf(secret[0]!, at);
    if (at < 0) return bytes.length;
    if (bytes.compare(secret, 0, bytes.length - at, at) === 0) return at;
    at++;
  }
}
