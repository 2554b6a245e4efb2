import { ApiError, invalidRequest } from '../../platform/errors.js';
import { Utf8Check } from '../../platform/http/utf8-check.js';
import { skipValue } from '../../platform/json/json-grammar.js';
import { parseBounded } from '../../platform/json/json-weight.js';
import { ByteBuffer } from '../byte-buffer.js';
import { PayloadCutter } from '../payload-cutter.js';
import type { BodyReader } from '../trajectories/uploads.service.js';
import { findViolation } from '../trajectory-rules.js';

/** Largest row, as large as a trajectory may be: a row is parsed at once. */
const MAX_ROW_BYTES = 32 * 1024 * 1024;
const LINE_FEED = 0x0a;

interface Row {
  messages: { role: string; weight?: unknown }[];
}

/**
 * Reads JSONL with conversations, `{messages, tools?}` per line, while it arrives. The payload is the body, byte for
 * byte. Memory: one row, and the chunks that the caller has not taken yet.
 */
export class RowsReader implements BodyReader {
  readonly cutter = new PayloadCutter();
  readonly rows = [];
  readonly rowBytes = 0;
  private count = 0;
  private readonly utf8 = new Utf8Check();
  /** Bytes of the row that has not ended yet. */
  private readonly row = new ByteBuffer();

  get heldBytes(): number {
    return this.row.length;
  }

  /** A row counts as a group, and as a trajectory. */
  get metrics() {
    return { numGroups: this.count, numTrajectories: this.count };
  }

  /** @throws ApiError that names the line when it is not a conversation that can be trained */
  write(chunk: Buffer): void {
    this.utf8.write(chunk);
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
      this.hold(chunk.subarray(start, at + 1));
      this.endRow();
      start = at + 1;
    }
    this.hold(chunk.subarray(start));
  }

  end(): void {
    this.utf8.end();
    if (this.row.length > 0) this.endRow();
    if (this.count === 0) throw new ApiError('invalid_request', 'there are no rows to train on');
    this.cutter.cut();
  }

  take() {
    const { cutter } = this;
    const { chunks } = cutter;
    cutter.chunks = [];
    return { chunks, rows: [], repealed: [] };
  }

  private hold(bytes: Buffer): void {
    if (this.row.length + bytes.length > MAX_ROW_BYTES)
      throw new ApiError('too_large', `${this.place} is over the limit of ${MAX_ROW_BYTES} bytes`);
    this.row.append(bytes);
  }

  private endRow(): void {
    assertConversation(this.row.bytes.toString('utf8'), this.place);
    this.cutter.addLine(this.row.bytes);
    this.row.clear();
    this.count++;
  }

  private get place(): string {
    return `line ${this.count + 1}`;
  }
}

function assertConversation(text: string, place: string): void {
  let row: unknown;
  try {
    row = parseBounded(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiError('invalid_json', `${place} is not valid JSON`);
  }
  skipValue(text, 0); // refuses a text with too deep nesting
  const violation = findViolation('SftRowDto', row, place);
  if (violation) throw invalidRequest([violation]);
  if ((row as Row).messages.some(({ role, weight }) => role === 'assistant' && weight !== 0))
    return;
  const message = 'must have a message of the assistant to train';
  throw invalidRequest([{ path: `${place}.messages`, message }]);
}
