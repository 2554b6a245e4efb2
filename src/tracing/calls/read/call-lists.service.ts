import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { type JsonRows, JsonRowWriter } from '../../../platform/database/json-row-writer.js';
import { ceilToMillisecond, parseDate } from '../../../platform/http/dto.js';
import { TookTooLong } from '../../../platform/refusals.js';
import type { CallsQueryDto } from '../calls.dto.js';
import { indexesQuery } from '../indexes/call-indexes.query.js';
import { callRows, isPlainPage } from './call-lists.query.js';
import { CallConditions } from './call-conditions.service.js';
import { CallTextSearch } from '../texts/text-search.service.js';
import type { ReadAhead, TextCandidates } from './calls.query.js';
import {
  documentSearch,
  FIRST_PART,
  isWithin,
  LARGEST_PART,
  type SearchPart,
  partQuery,
  QUICK_PART_MS,
  type DocumentSearch,
  searchStoppedError,
} from './document-search.js';

@Injectable()
export class CallLists {
  constructor(
    private readonly database: Database,
    private readonly conditions: CallConditions,
    private readonly texts: CallTextSearch,
  ) {}

  /** Returns batches of calls in the form that `jsonLines` and `jsonArray` take. */
  async stream(request: CallsQueryDto): Promise<Readable> {
    const { rows, search, ahead } = await this.conditions.compiled(request, (ahead) => ({
      rows: callRows(request, { ahead }),
      search: documentSearch(request, ahead),
      ahead,
    }));
    if (search && !(await this.isServed(request.project_id, search)))
      return Readable.from(this.search(request, search, ahead), { highWaterMark: 1 });
    return this.database.stream(rows.query, {
      rows: new JsonRowWriter(rows.pieces),
      isPlanKept: isPlainPage(request),
    });
  }

  private async isServed(projectId: string, { indexes }: DocumentSearch): Promise<boolean> {
    if (indexes.length === 0) return false;
    const made = await this.database.query(indexesQuery(projectId));
    return indexes.some(({ field, kind }) =>
      made.some((one) => one.field === field && one.kind === kind && one.status === 'ready'),
    );
  }

  /**
   * Searches the calls in parts that grow, with one statement for each part, so that other requests can run in between.
   * It stops when it has found nothing for as long as a read may take.
   * @throws ApiError `too_large`
   */
  private async *search(
    request: CallsQueryDto,
    search: DocumentSearch,
    ahead: ReadAhead,
  ): AsyncGenerator<JsonRows> {
    const { readMs, scope } = this.database;
    const { owner } = scope; // parts are read in the context of the connection
    let [from, looked, wanted] = [null as string | null, 0, request.limit ?? null];
    let found = performance.now();
    try {
      for (let size = FIRST_PART; ;) {
        const began = performance.now();
        const texts = await this.textsFrom(request, search, { from, size, owner }, ahead);
        const part = texts ? partOf(texts) : await this.part(search, { from, size, owner });
        const { calls, until, isLast, candidates } = part;
        const rows = callRows(Object.assign(request, { limit: wanted }), {
          part: isWithin(search, from, isLast ? null : until),
          ahead: { ...ahead, candidates },
        });
        const batches = await this.database.stream(rows.query, {
          owner,
          rows: new JsonRowWriter(rows.pieces),
        });
        for await (const batch of batches as AsyncIterable<JsonRows>) {
          if (wanted !== null) wanted -= batch.ends.length;
          yield batch;
          found = performance.now();
        }
        if (isLast || wanted === 0) return;
        [from, looked] = [until, looked + calls];
        const now = performance.now();
        if (now - found > readMs) throw new TookTooLong();
        size = nextSize(size, now - began);
      }
    } catch (error) {
      throw error instanceof TookTooLong ? searchStoppedError(search, looked, from) : error;
    }
  }

  /** Returns the next step of the search for texts, or nothing if the index of texts cannot help. */
  private textsFrom(
    request: CallsQueryDto,
    { isDescending }: DocumentSearch,
    { from, size, owner }: PartStep,
    { texts }: ReadAhead,
  ) {
    if (from === null) return texts;
    const at = isDescending ? ceilToMillisecond(from) : parseDate(from);
    return this.texts.find(request, { isDescending, from: +at, most: size / 4 }, owner);
  }

  /** Finds the next `size` calls. */
  private async part(search: DocumentSearch, { from, size, owner }: PartStep): Promise<FoundPart> {
    const query = partQuery(search, from, size);
    const [part] = await this.database.query(query, { owner, long: 'read' });
    return { ...part!, isLast: part!.calls < size };
  }
}

interface PartStep {
  from: string | null;
  size: number;
  owner: string;
}

interface FoundPart extends SearchPart {
  isLast: boolean;
  candidates?: readonly string[];
}

const partOf = ({ ids, until }: TextCandidates): FoundPart => ({
  calls: ids.length,
  until: until === null ? null : new Date(until).toISOString(),
  isLast: until === null,
  candidates: ids,
});

const nextSize = (size: number, ms: number) =>
  ms < QUICK_PART_MS ? Math.min(4 * size, LARGEST_PART) : size;
