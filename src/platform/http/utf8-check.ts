import { isUtf8 } from 'node:buffer';
import { ApiError } from '../errors.js';

/**
 * Checks that a body is UTF-8, chunk by chunk. A character may be split between chunks: its first bytes wait for the
 * rest.
 */
export class Utf8Check {
  private rest: Buffer = Buffer.alloc(0);

  /** @throws ApiError `invalid_json` */
  write(chunk: Buffer): void {
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    const whole = wholeCharacters(bytes);
    if (!isUtf8(bytes.subarray(0, whole))) throw notUtf8();
    this.rest = Buffer.from(bytes.subarray(whole));
  }

  /** @throws ApiError `invalid_json` when the last character is incomplete. */
  end(): void {
    if (this.rest.length > 0) throw notUtf8();
  }
}

export const notUtf8 = () => new ApiError('invalid_json', 'the body is not UTF-8');

/** Returns the length of the bytes without an incomplete character at their end. */
function wholeCharacters(bytes: Buffer): number {
  let back = 1;
  while (back < 4 && (bytes.at(-back)! & 0xc0) === 0x80) back++;
  const first = bytes.at(-back) ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return length > back ? bytes.length - back : bytes.length;
}
