import { ByteBuffer } from '../byte-buffer.js';
import { ApiError } from '../../platform/errors.js';

const COMMA = 0x2c;
const SPACE = 0x20;
const NOTHING = Buffer.alloc(0);
/** In place of a position: there is none. */
const NONE = -1;

/**
 * The text of one value that is to be parsed in one go, kept from its first byte to its last while chunks pass. What stands between `pause` and
 * `resume` is left out. Positions are those of the chunk under way.
 */
export class CapturedText {
  private readonly text = new ByteBuffer();
  private chunk: Buffer = NOTHING;
  /** The first byte that is not copied yet, while the text is captured. */
  private start = NONE;
  /** The length up to the first member of an object, if that was left out: the comma behind it has to go too. */
  private firstLeftOut = NONE;
  /** The count of all values, less those captured. */
  private otherValues = 0;

  /** `name` is what an error calls the value; `passed` counts all values, captured or not. */
  constructor(
    private readonly limits: { bytes: number; values: number },
    private readonly passed: { values: number },
    private readonly name: () => string,
  ) {}

  get length(): number {
    return this.text.length;
  }

  get isCapturing(): boolean {
    return this.start !== NONE;
  }

  beginChunk(chunk: Buffer): void {
    this.chunk = chunk;
  }

  /** @throws ApiError `too_large`, as all that copy bytes do */
  endChunk(): void {
    if (!this.isCapturing) return;
    this.copyUpTo(this.chunk.length);
    this.start = 0;
  }

  begin(at: number): void {
    this.text.clear();
    this.start = at;
    this.otherValues = this.passed.values;
  }

  /** Captures nothing from here on; `instead` stands for what is left out. */
  pause(end: number, instead: Uint8Array = NOTHING): void {
    this.copyUpTo(end);
    this.start = NONE;
    this.text.append(instead);
    this.otherValues -= this.passed.values;
  }

  resume(at: number): void {
    this.start = at;
    this.otherValues += this.passed.values;
  }

  /** The whole text; nothing of it is held any more. */
  end(end: number): string {
    this.pause(end);
    const text = this.text.bytes.toString('utf8');
    this.text.clear();
    return text;
  }

  /** Pauses, and takes out the key that has just ended, which was spelled in `length` bytes. */
  leaveOut(end: number, length: number): void {
    this.pause(end);
    const { bytes } = this.text;
    let last = bytes.length - length - 1;
    while (bytes[last]! <= SPACE) last--;
    const isFirst = bytes[last] !== COMMA;
    this.text.length = isFirst ? last + 1 : last;
    this.firstLeftOut = isFirst ? this.text.length : NONE;
  }

  /** Another key has ended: takes out the comma before it, if the first member of its object was left out. */
  dropComma(end: number): void {
    if (this.firstLeftOut === NONE) return;
    this.copyUpTo(end);
    const { bytes } = this.text;
    bytes[bytes.indexOf(COMMA, this.firstLeftOut)] = SPACE;
    this.firstLeftOut = NONE;
  }

  /** An object has ended whose members may have been left out. */
  endObject(): void {
    this.firstLeftOut = NONE;
  }

  private copyUpTo(end: number): void {
    const { bytes, values } = this.limits;
    if (this.length + end - this.start > bytes) throw this.tooLarge(`${bytes} bytes`);
    if (this.passed.values - this.otherValues > values) throw this.tooLarge(`${values} values`);
    this.text.append(this.chunk.subarray(this.start, end));
    this.start = end;
  }

  private tooLarge(limit: string): ApiError {
    return new ApiError('too_large', `${this.name()} is over the limit of ${limit}`);
  }
}
