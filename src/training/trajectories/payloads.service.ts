import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import type { Sql } from '../../platform/query/sql.js';
import { Database } from '../../platform/database/database.js';
import { type ByteRange, sliceRange } from '../byte-range.js';
import { chunkAtByte, chunkBeforeGroup, payloadChunks } from './uploads.query.js';

const gzip = promisify(zlib.gzip);
const gunzip = promisify(zlib.gunzip);
const LEVEL = { level: 1 };
const LINE_FEED = 0x0a;

interface Groups {
  from: number;
  count: number;
}

/** Reads payloads chunk by chunk with the caller's current rights. A slow reader holds no connection. */
@Injectable()
export class PayloadsService {
  constructor(private readonly database: Database) {}

  /** Yields bytes of the payload. It consists of gzip members, so a byte range is seldom readable alone. */
  bytesOf(
    batch: { projectId: string; id: string },
    range: ByteRange,
    caller: Caller,
  ): AsyncGenerator<Buffer> {
    const chunks = this.reader(batch, caller);
    return (async function* () {
      let [seq, before] = [0, 0];
      if (range.start > 0) {
        const query = chunkAtByte(batch.projectId, batch.id, range.start);
        const [found] = await chunks.read(query);
        if (found) ({ seq, before } = found);
      }
      yield* sliceRange(chunks.from(seq), range, before);
    })();
  }

  /** Yields groups of the payload, packed again as gzip JSONL. */
  groupsOf(
    batch: { projectId: string; id: string },
    { from, count }: Groups,
    caller: Caller,
  ): AsyncGenerator<Buffer> {
    const chunks = this.reader(batch, caller);
    return (async function* () {
      let [seq, line] = [0, 0];
      if (from > 0) {
        const query = chunkBeforeGroup(batch.projectId, batch.id, from);
        const [found] = await chunks.read(query);
        if (found) [seq, line] = [found.seq, found.groups_before];
      }
      let isEmpty = true;
      for await (const packed of chunks.from(seq)) {
        if (packed.length === 0) continue;
        const text = await gunzip(packed);
        const cut = linesWithin(text, line, { from, count });
        if (cut.text.length > 0) yield await gzip(cut.text, LEVEL);
        isEmpty &&= cut.text.length === 0;
        line = cut.line;
        if (line >= from + count) break;
      }
      if (isEmpty) yield await gzip('', LEVEL);
    })();
  }

  /** Yields the unpacked text of the payload in pieces. */
  async *textOf(batch: { projectId: string; id: string }, caller: Caller): AsyncGenerator<Buffer> {
    for await (const packed of this.reader(batch, caller).from(0))
      if (packed.length > 0) yield await gunzip(packed);
  }

  private reader({ projectId, id }: { projectId: string; id: string }, caller: Caller) {
    const { database } = this;
    const { owner } = database.scope; // chunks are read in the context of the connection
    const read = async <Row>(query: Sql<Row>): Promise<Row[]> => {
      await caller.assertValid();
      return database.query(query, { owner, long: 'read' });
    };
    async function* from(first: number): AsyncGenerator<Buffer> {
      for (let seq = first - 1; ;) {
        const chunks = await read(payloadChunks(projectId, id, seq));
        if (chunks.length === 0) return;
        for (const chunk of chunks) yield chunk.text;
        seq = chunks.at(-1)!.seq;
      }
    }
    return { read, from };
  }
}

/** Returns the requested lines of a text that begins in the given line, and the line in which the text ends. */
function linesWithin(text: Buffer, line: number, { from, count }: Groups) {
  let start = line >= from ? 0 : text.length;
  let end = text.length;
  for (let at = text.indexOf(LINE_FEED); at >= 0; at = text.indexOf(LINE_FEED, at + 1)) {
    line++;
    if (line === from) start = at + 1;
    if (line < from + count) continue;
    end = at + 1;
    break;
  }
  return { text: text.subarray(start, end), line };
}
