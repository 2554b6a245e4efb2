import { Injectable } from '@nestjs/common';
import { oneLock, tryLock } from '../../../platform/database/advisory-locks.js';
import { Database } from '../../../platform/database/database.js';
import { MarksRefresher } from '../../../platform/database/marks-refresher.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { groupBy } from '../../../platform/query/grouping.js';
import { SLOT_MS } from '../stats/call-slots.query.js';
import {
  allSegments,
  hasCalls,
  idsInsert,
  idsOf,
  MARKED_TEXTS,
  marksInsert,
  marksTake,
  nextWalk,
  partsIn,
  partsInsert,
  type PlacedCall,
  segmentInsert,
  segmentsAt,
  segmentsDelete,
  smallSegments,
  type TextOfCall,
  type TextSegment,
  timesOf,
  textSizes,
  textsOf,
  walkedMark,
  walkEnd,
  walkMove,
  walkStep,
} from './call-texts.query.js';
import { MERGED_BITS, bitsFor, SEGMENT_CALLS } from './text-segment.js';
import { segmentsThread } from './text-segments.worker.js';

/** Bytes of texts that are read and encoded at once, unless one call has more. */
const CHUNK_BYTES = 4 * 1024 * 1024;
/**
 * Calls with larger texts are not cut into grams, and each search looks at them. Decoding 60 MiB of escapes takes
 * more than a gigabyte.
 */
const LARGE_BYTES = 8 * 1024 * 1024;
/** Number of calls whose sizes are read at once. */
const SIZED_CALLS = 4096;
/** Segments of about the same size are merged when there are so many. */
const FAN_IN = 8;
/** Number of erased calls from which the whole project may have been erased. */
const MANY = 1000;

/** Held by the one replica that marks calls of older builds. */
const WALK_LOCK = oneLock(0x7478_776b);
const WALK_EVERY_MS = 5000;
const WALKED_CALLS = 16_384;
/** Time after which a project lets others go on. What is left waits for its next turn. */
const TURN_MS = 5000;

/**
 * Indexes the texts of calls that were written, and removes erased calls from the index. The marks are deleted first,
 * as `CallSlotsRefresher` does it. A call that was indexed before gets a second place in the index; merging removes the
 * first.
 */
@Injectable()
export class CallTextsIndexer extends MarksRefresher {
  constructor(database: Database, schedule: Schedule) {
    super(database, MARKED_TEXTS, schedule);
    const walk = () => this.walk(schedule.signal);
    schedule.every(WALK_EVERY_MS, 'texts of older calls', walk, { isEager: true });
  }

  protected async take(projectId: string, limit: number): Promise<number> {
    const marks = await this.database.query(marksTake(projectId, limit));
    const gone = slotsOf(marks.filter(({ is_erasing }) => is_erasing));
    if (gone.size > 0) await this.remove(projectId, gone);
    const slots = slotsOf(marks);
    const ids = [...slots.keys()];
    const left: [string, Date][] = [];
    const end = performance.now() + TURN_MS;
    for (let from = 0; from < ids.length; from += SIZED_CALLS)
      for (const id of await this.index(projectId, ids.slice(from, from + SIZED_CALLS), end))
        left.push([id, slots.get(id)!]);
    if (left.length > 0) await this.database.query(marksInsert(projectId, left, false));
    await this.mergeSmall(projectId);
    return left.length > 0 ? limit : Math.min(limit, ids.length);
  }

  /** Indexes those of the calls that are visible, and returns the calls for which there was no time. */
  private async index(
    projectId: string,
    ids: readonly string[],
    end: number,
  ): Promise<readonly string[]> {
    if (performance.now() > end) return ids;
    const sizes = await this.database.query(textSizes(projectId, ids));
    const large = sizes.filter(({ bytes }) => bytes > LARGE_BYTES);
    if (large.length > 0) await this.insert(projectId, large, { bits: 0, bytes: 0 });
    const chunks = [...chunksOf(sizes.filter(({ bytes }) => bytes <= LARGE_BYTES))];
    let done = 0;
    while (done < chunks.length && (done === 0 || performance.now() < end)) {
      const texts = await this.database.query(textsOf(projectId, chunks[done++]!));
      if (texts.length > 0) await this.store(projectId, texts);
    }
    return chunks.slice(done).flat();
  }

  private async store(projectId: string, texts: readonly TextOfCall[]): Promise<void> {
    const calls = texts.map(({ names, documents }) => ({ names, documents }));
    const length = calls.reduce(
      (sum, { names, documents }) => sum + names.length + documents.length,
      0,
    );
    const { bits, parts } = await segmentsThread.run({ calls }, '', length);
    const bytes = parts.reduce((sum, part) => sum + part.bytes.length, 0);
    const segment = await this.insert(projectId, texts, { bits, bytes });
    await this.database.query(partsInsert(projectId, segment, parts));
  }

  /** Stores a segment without its parts, and returns its number. */
  private async insert(
    projectId: string,
    calls: readonly PlacedCall[],
    size: { bits: number; bytes: number },
  ): Promise<string> {
    const facts = { ...size, calls: calls.length, ...timesOf(calls) };
    const [made] = await this.database.query(segmentInsert(projectId, facts));
    await this.database.query(idsInsert(projectId, made!.segment, calls));
    return made!.segment;
  }

  /** Removes calls from the segments that hold them. `gone` has the slot of each call. */
  private async remove(projectId: string, gone: ReadonlyMap<string, Date>): Promise<void> {
    if (gone.size > MANY) {
      const [row] = await this.database.query(hasCalls(projectId));
      if (!row!.has_calls) {
        const all = await this.database.query(allSegments(projectId));
        return this.delete(projectId, all);
      }
    }
    const slots = [...new Map([...gone.values()].map((slot) => [+slot, slot])).values()];
    const end = performance.now() + TURN_MS;
    for (const segment of await this.database.query(segmentsAt(projectId, slots))) {
      if (performance.now() > end) {
        const from = segment.first - SLOT_MS;
        const left = [...gone].filter(([, slot]) => +slot > from);
        await this.database.query(marksInsert(projectId, left, true));
        return;
      }
      const calls = await this.callsOf(projectId, segment);
      if (calls.some(({ id }) => gone.has(id))) await this.merge(projectId, [segment], gone);
    }
  }

  private async mergeSmall(projectId: string): Promise<void> {
    const small = await this.database.query(smallSegments(projectId, SEGMENT_CALLS / FAN_IN));
    const sizeOf = (calls: number) => Math.floor(Math.log2(calls) / Math.log2(FAN_IN));
    // segments of large calls have no grams, so they are merged apart
    const classes = groupBy(small, ({ calls, bits }) => `${sizeOf(calls)} ${bits === 0}`);
    for (const segments of classes.values())
      if (segments.length >= FAN_IN)
        return this.merge(projectId, segments.slice(0, FAN_IN), new Map());
  }

  /** Replaces segments by one that has their calls, except those in `gone` and all but the last place of a call. */
  private async merge(
    projectId: string,
    segments: readonly TextSegment[],
    gone: ReadonlyMap<string, Date>,
  ): Promise<void> {
    const lists: PlacedCall[][] = [];
    for (const segment of segments) lists.push(await this.callsOf(projectId, segment));
    const lastIn = new Map(lists.flatMap((calls, source) => calls.map(({ id }) => [id, source])));
    const kept: PlacedCall[] = [];
    const numbers = lists.map((calls, source) =>
      Int32Array.from(calls, (call) =>
        lastIn.get(call.id) === source && !gone.has(call.id) ? kept.push(call) - 1 : -1,
      ),
    );
    if (kept.length > 0) await this.storeMerged(projectId, segments, kept, numbers);
    await this.delete(projectId, segments);
  }

  private async storeMerged(
    projectId: string,
    segments: readonly TextSegment[],
    kept: readonly PlacedCall[],
    numbers: readonly Int32Array[],
  ): Promise<void> {
    const bytes = segments.reduce((sum, one) => sum + one.bytes, 0);
    const bits = segments[0]!.bits && bitsFor(bytes);
    const segment = await this.insert(projectId, kept, { bits, bytes });
    if (bits === 0) return;
    for (let range = 0; range < 2 ** MERGED_BITS; range++) {
      const found = await this.database.query(partsIn(projectId, segments, range));
      const sources = segments.map((one, i) => ({
        parts: found.filter((part) => part.segment === one.segment).map((part) => part.bytes),
        numbers: numbers[i]!,
      }));
      const { parts } = await segmentsThread.run({ sources, bits }, '', bytes / 2 ** MERGED_BITS);
      if (parts.length > 0) await this.database.query(partsInsert(projectId, segment, parts));
    }
  }

  private async callsOf(projectId: string, { segment }: TextSegment): Promise<PlacedCall[]> {
    const rows = await this.database.query(idsOf(projectId, segment));
    return rows.flatMap(({ ids, ...times }) => ids.map((id) => ({ id, ...times })));
  }

  private async delete(projectId: string, segments: readonly { segment: string }[]): Promise<void> {
    const names = segments.map(({ segment }) => segment);
    for (const statement of segmentsDelete(projectId, names)) await this.database.query(statement);
  }

  /** Marks some calls of an older build, from the newest to the oldest. */
  private async walk(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.walkSome()));
  }

  private walkSome(): Promise<boolean> {
    return this.database.transaction({ long: 'bulk' }, async () => {
      const [row] = await this.database.query(tryLock(WALK_LOCK));
      const [walk] = row!.is_mine ? await this.database.query(nextWalk()) : [];
      if (!walk) return false;
      const { project_id: projectId, before } = walk;
      const [step] = await this.database.query(walkStep(projectId, before, WALKED_CALLS));
      const { until, calls } = step!;
      if (until !== null) await this.database.query(walkedMark(projectId, until, before));
      await this.database.query(
        calls < WALKED_CALLS ? walkEnd(projectId) : walkMove(projectId, until!),
      );
      return true;
    });
  }
}

/** Returns the slot of each marked call. */
const slotsOf = (marks: readonly { slot: Date; call_ids: readonly string[] }[]) =>
  new Map(marks.flatMap(({ slot, call_ids }) => call_ids.map((id) => [id, slot] as const)));

/** Divides calls into chunks of at most `CHUNK_BYTES`, or of one call. */
function* chunksOf(sizes: readonly { id: string; bytes: number }[]): Generator<string[]> {
  let [chunk, held] = [[] as string[], 0];
  for (const { id, bytes } of sizes) {
    if (chunk.length > 0 && held + bytes > CHUNK_BYTES) {
      yield chunk;
      [chunk, held] = [[], 0];
    }
    chunk.push(id);
    held += bytes;
  }
  if (chunk.length > 0) yield chunk;
}
