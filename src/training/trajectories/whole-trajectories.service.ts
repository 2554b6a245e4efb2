import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import { memberSpans, memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import type { Sql } from '../../platform/query/sql.js';
import { DEFAULTS } from '../trajectory-rules.js';
import { chunkBeforeGroup, payloadChunk } from './uploads.query.js';

const gunzip = promisify(zlib.gunzip);
const LINE_FEED = 0x0a;
/** Rows that are fetched at once. A few documents are in memory beside one group. */
const ROWS_AT_ONCE = 16;
const ADDED = [...DEFAULTS.map(([name]) => name), 'start_time'];

/**
 * Reads trajectories as they were logged. The rows have no logprobs and no token ids, which have one entry for each
 * token. Each trajectory is therefore read from the payload of its batch, group by group. Memory is one group.
 */
@Injectable()
export class WholeTrajectories {
  constructor(private readonly database: Database) {}

  /**
   * Streams the JSON texts of the trajectories that a query selects. A row has five parts, each on a line: the id of
   * the batch, the index of the group, the index of the trajectory, the members that the service adds, and the
   * document.
   */
  async stream(projectId: string, rows: Sql, caller: Caller): Promise<Readable> {
    const { owner } = this.database.scope;
    const batches = await this.database.stream(rows, { maxBatch: ROWS_AT_ONCE });
    const groups = new Groups((query) => this.database.query(query, { owner }));
    return Readable.from(wholeRows(batches as AsyncIterable<string[]>, groups, projectId, caller), {
      highWaterMark: 1,
    });
  }
}

async function* wholeRows(
  batches: AsyncIterable<string[]>,
  groups: Groups,
  projectId: string,
  caller: Caller,
): AsyncGenerator<string[]> {
  for await (const batch of batches) {
    await caller.assertValid();
    for (const row of batch) {
      const [batchId, group, index, added, ...document] = row.split('\n');
      const texts = await groups.trajectories(projectId, batchId!, Number(group));
      yield [wholeRow(texts[Number(index)], document.join('\n'), added!)];
    }
  }
}

/** Prints a trajectory as it was sent, then the defaults of absent fields, then the members that the service adds. */
function wholeRow(sent: string | undefined, document: string, added: string): string {
  const text = sent ?? document;
  const names = memberSpans(text, 0);
  const stored = memberTexts(document);
  const absent = ADDED.filter((name) => !names.has(name) && stored.has(name));
  const defaults = objectText(absent.map((name) => [name, stored.get(name)!]));
  const parts = [text.trim(), defaults, added].map((part) => part.slice(1, -1));
  return `{${parts.filter((part) => part.trim() !== '').join(',')}}`;
}

/** Reads groups of payloads in order. Keeps the last chunk and the last group. */
class Groups {
  private batch = '';
  private seq = -1;
  /** Text that is not read yet; `line` is the line that it begins with. */
  private text: Buffer = Buffer.alloc(0);
  private line = 0;
  private last: { group: number; texts: (string | undefined)[] } | null = null;

  constructor(private readonly query: <Row>(query: Sql<Row>) => Promise<Row[]>) {}

  async trajectories(projectId: string, batch: string, group: number) {
    if (this.batch === batch && this.last?.group === group) return this.last.texts;
    if (this.batch !== batch || group < this.line || !this.isAtHand(group))
      await this.seek(projectId, batch, group);
    const text = await this.read(projectId, group);
    const found = textsIn(text, { trajectories: [true] })?.trajectories ?? [];
    const texts = found.map((one) => (typeof one === 'string' ? one : undefined));
    this.last = { group, texts };
    return texts;
  }

  private isAtHand(group: number): boolean {
    let at = 0;
    for (let line = this.line; line < group; line++) {
      at = this.text.indexOf(LINE_FEED, at) + 1;
      if (at === 0) return false;
    }
    return true;
  }

  private async seek(projectId: string, batch: string, group: number): Promise<void> {
    const [found] = group > 0 ? await this.query(chunkBeforeGroup(projectId, batch, group)) : [];
    this.batch = batch;
    this.seq = (found?.seq ?? 0) - 1;
    this.line = found?.groups_before ?? 0;
    this.text = Buffer.alloc(0);
  }

  private async read(projectId: string, group: number): Promise<string> {
    const parts: Buffer[] = [];
    for (;;) {
      for (let end; (end = this.text.indexOf(LINE_FEED)) >= 0;) {
        const line = this.text.subarray(0, end);
        this.text = this.text.subarray(end + 1);
        if (this.line++ === group) return Buffer.concat([...parts, line]).toString('utf8');
      }
      if (this.line === group) parts.push(this.text);
      const [chunk] = await this.query(payloadChunk(projectId, this.batch, this.seq));
      if (!chunk) return '{}';
      this.seq = chunk.seq;
      this.text = chunk.text.length > 0 ? await gunzip(chunk.text) : Buffer.alloc(0);
    }
  }
}
