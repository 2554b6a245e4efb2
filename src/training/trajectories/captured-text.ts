import { ByteBuffer } from '../byte-buffer.js';
import { ApiError } from '../../platform/errors.js';

const COMMA = 0x2c;
const SPACE = 0x20;
const NOTHING = Buffer.alloc(0);
/** Stands for the absence of a position. */
const NONE = -1;

/**
 * Collects the text of one value while chunks arrive, so that the whole text can be parsed at once. Leaves out the
 * bytes between `pause` and `resume`. Positions are offsets in the current chunk.
 */
export class CapturedText {
  private readonly text = new ByteBuffer();
  private chunk: Buffer = NOTHING;
  /** The first byte of the chunk that is not copied yet; `NONE` while nothing is captured. */
  private start = NONE;
  /**
   * Length of the text before the first member of an object, if that member was left out. The comma after it is then
   * removed too.
   */
  private firstLeftOut = NONE;
  /** Number of all values minus the captured ones. */
  private otherValues = 0;

  /** `name` returns the name of the value in errors. `passed` counts all values, captured or not. */
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

  /** @throws ApiError `too_large`, as all methods that copy bytes do */
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

  /** Stops capturing. Appends `instead` in place of what is left out. */
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

  /** Returns the whole text, and clears it. */
  end(end: number): string {
    this.pause(end);
    const text = this.text.bytes.toString('utf8');
    this.text.clear();
    return text;
  }

  /** Pauses, and removes the key that has just ended. `length` is the number of bytes of its spelling. */
  leaveOut(end: number, length: number): void {
    this.pause(end);
    const { bytes } = this.text;
    let last = bytes.length - length - 1;
    while (bytes[last]! <= SPACE) last--;
    const isFirst = bytes[last] !== COMMA;
    this.text.length = isFirst ? last + 1 : last;
    this.firstLeftOut = isFirst ? this.text.length : NONE;
  }

  /** Handles the end of another key: removes the comma before it, if the first member of its object was left out. */
  dropComma(end: number): void {
    if (this.firstLeftOut === NONE) return;
    this.copyUpTo(end);
    const { bytes } = this.text;
    bytes[bytes.indexOf(COMMA, this.firstLeftOut)] = SPACE;
    this.firstLeftOut = NONE;
  }

  /** Handles the end of an object whose members may have been left out. */
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
