import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { groupBy } from '../../../platform/query/grouping.js';
import type { CallsQueryDto } from '../calls.dto.js';
import type { CallSelection, TextCandidates } from '../read/calls.query.js';
import { isNewestFirst } from '../read/document-search.js';
import { SNAPSHOT } from '../stats/call-stats.query.js';
import {
  IDS_OF_ROW,
  type IdsKey,
  idsQuery,
  idTimes,
  marksOf,
  MAX_WAITING,
  partsQuery,
  type SegmentTimes,
  segmentTimes,
  type Times,
  waitingCount,
  walkOf,
} from './call-texts.query.js';
import { callsWith, gramBytes, partOf } from './text-segment.js';
import { type WantedTexts, wantedTexts } from './wanted-texts.js';

/** Number of parts of the first grams that are read at once. */
const PARTS_AT_ONCE = 500;
/** Grams of an alternative that are looked up first. Most segments have no call with all of these. */
const FIRST_GRAMS = 3;
/** With more segments, one of them tells which grams are rare. */
const FEW_SEGMENTS = 4;
/** Number of candidates that the first step of a search finds. If there are no more, the search is one statement. */
const FEW = 1000;

type Alternatives = WantedTexts['alternatives'];

/** One step of a search through time. Times are milliseconds since 1970. */
interface TextStep {
  isDescending: boolean;
  /** Calls up to here were looked at. Null before the first step. */
  from: number | null;
  /** The step ends when it has so many candidates. */
  most: number;
}

/** A row of ids with candidates. */
interface CandidateRow extends IdsKey {
  /** Numbers of the calls in the row. */
  places: number[];
}

/** Finds the calls that may say something, by the index of texts and the calls that wait for it. */
@Injectable()
export class CallTextSearch {
  constructor(private readonly database: Database) {}

  /** Makes the first step, in the order of the request. Returns null if the index cannot help. */
  first(
    request: CallSelection & Pick<Partial<CallsQueryDto>, 'sort_by'>,
  ): Promise<TextCandidates | null> {
    return this.find(request, { isDescending: isNewestFirst(request), from: null, most: FEW });
  }

  /** Returns null if the index cannot help. It needs a snapshot of its own, so it does not help in a transaction. */
  async find(
    request: CallSelection,
    step: TextStep,
    owner?: string,
  ): Promise<TextCandidates | null> {
    const wanted = this.database.inTransaction ? null : wantedTexts(request);
    if (!wanted) return null;
    return this.database.transaction({ owner, long: 'read' }, async () => {
      await this.database.query(SNAPSHOT);
      return this.candidates(request.project_id, wanted, step);
    });
  }

  private async candidates(
    projectId: string,
    wanted: WantedTexts,
    step: TextStep,
  ): Promise<TextCandidates | null> {
    const [walk] = await this.database.query(walkOf(projectId));
    if (walk && wanted.since < walk.before) return null;
    const [wait] = await this.database.query(waitingCount(projectId));
    if (wait!.calls > MAX_WAITING) return null;
    const marks = await this.database.query(marksOf(projectId));
    const waiting = new Set(marks.flatMap(({ call_ids }) => call_ids));
    const order = new StepOrder(step);
    const segments = (await this.database.query(segmentTimes(projectId)))
      .filter((one) => one.first <= wanted.until && one.last >= wanted.since && order.isAhead(one))
      .toSorted(order.compare);
    const alternatives = await this.rarestFirst(projectId, wanted.alternatives, segments);
    const found: CandidateRow[] = [];
    let [looked, count] = [0, 0];
    while (looked < segments.length && !order.isEnough(count, segments[looked])) {
      const next = segments.slice(looked, looked + segmentsAtOnce(alternatives));
      looked += next.length;
      for (const one of await this.rowsIn(projectId, alternatives, next)) {
        found.push(one);
        count += one.places.length;
      }
    }
    const rows = (await this.timed(projectId, found))
      .filter((one) => order.isAhead(one))
      .toSorted(order.compare);
    let taken = 0;
    for (
      let held = 0;
      taken < rows.length && !order.isEnough(held, rows[taken], segments[looked]);
      taken++
    )
      held += rows[taken]!.places.length;
    const ids = await this.idsOf(projectId, rows.slice(0, taken));
    return {
      ids: [...new Set([...ids, ...waiting])],
      until: order.before(rows[taken], segments[looked]),
    };
  }

  /** Sorts the grams of each alternative by the number of calls that have them in the largest segment. */
  private async rarestFirst(
    projectId: string,
    alternatives: Alternatives,
    segments: readonly SegmentTimes[],
  ): Promise<Alternatives> {
    if (segments.length <= FEW_SEGMENTS) return alternatives;
    const largest = segments.reduce((a, b) => (b.bits > 0 && b.calls > a.calls ? b : a));
    if (largest.bits === 0) return alternatives;
    const [parts] = (await this.partsOf(projectId, alternatives, [largest])).values();
    const bytes = new Map(
      alternatives.flat().map((gram) => [gram, gramBytes(gram, largest.bits, parts ?? new Map())]),
    );
    return alternatives.map((all) => all.toSorted((a, b) => bytes.get(a)! - bytes.get(b)!));
  }

  /** Returns the rows of ids with calls that have the grams. */
  private async rowsIn(
    projectId: string,
    alternatives: Alternatives,
    segments: readonly SegmentTimes[],
  ): Promise<CandidateRow[]> {
    const first = firstGrams(alternatives);
    const rest = alternatives.map((all) => all.slice(FIRST_GRAMS));
    const parts = await this.partsOf(projectId, first, segments);
    const left = segments.filter(({ segment, bits }) => {
      const ofSegment = parts.get(segment);
      return ofSegment && first.some((all) => callsWith(all, bits, ofSegment).length > 0);
    });
    for (const [segment, more] of await this.partsOf(projectId, rest, left))
      for (const [part, bytes] of more) parts.get(segment)!.set(part, bytes);
    return segments.flatMap((one) => {
      const { segment } = one;
      const rows = groupBy(callsIn(one, alternatives, parts.get(segment)), (call) =>
        Math.floor(call / IDS_OF_ROW),
      );
      return [...rows].map(([row, all]) => ({
        segment,
        row,
        places: all.map((call) => call % IDS_OF_ROW),
      }));
    });
  }

  /** Reads the parts of segments that may hold the grams, by their numbers. */
  private async partsOf(
    projectId: string,
    alternatives: Alternatives,
    segments: readonly SegmentTimes[],
  ): Promise<Map<string, Map<number, Buffer>>> {
    const grams = alternatives.flat();
    const keys = segments
      .filter(({ bits }) => bits > 0)
      .flatMap(({ segment, bits }) =>
        [...new Set(grams.map((gram) => partOf(gram, bits)))].map((part) => ({ segment, part })),
      );
    const parts = new Map<string, Map<number, Buffer>>();
    if (keys.length === 0) return parts;
    for (const { segment, part, bytes } of await this.database.query(partsQuery(projectId, keys)))
      parts.set(segment, (parts.get(segment) ?? new Map<number, Buffer>()).set(part, bytes));
    return parts;
  }

  private async timed(
    projectId: string,
    rows: readonly CandidateRow[],
  ): Promise<(CandidateRow & Times)[]> {
    return rows.length === 0
      ? []
      : joined(rows, await this.database.query(idTimes(projectId, rows)));
  }

  private async idsOf(projectId: string, rows: readonly CandidateRow[]): Promise<string[]> {
    if (rows.length === 0) return [];
    const found = joined(rows, await this.database.query(idsQuery(projectId, rows)));
    return found.flatMap(({ ids, places }) => places.map((place) => ids[place]!));
  }
}

/** Adds what was read to the rows of the same keys. */
function joined<Read extends IdsKey>(
  rows: readonly CandidateRow[],
  read: readonly Read[],
): (CandidateRow & Read)[] {
  const keyOf = ({ segment, row }: IdsKey) => `${segment} ${row}`;
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  return read.map((one) => ({ ...byKey.get(keyOf(one))!, ...one }));
}

/** Returns the numbers of the calls of a segment that have all grams of an alternative. */
function callsIn(
  { bits, calls }: SegmentTimes,
  alternatives: Alternatives,
  parts: ReadonlyMap<number, Buffer> = new Map(),
): Set<number> {
  if (bits === 0) return new Set(Array(calls).keys());
  return new Set(alternatives.flatMap((all) => [...callsWith(all, bits, parts)]));
}

const firstGrams = (alternatives: Alternatives): Alternatives =>
  alternatives.map((all) => all.slice(0, FIRST_GRAMS));

const segmentsAtOnce = (alternatives: Alternatives) =>
  Math.max(1, Math.floor(PARTS_AT_ONCE / firstGrams(alternatives).flat().length));

/** The order in which a step looks at segments and rows: from one end of time to the other. */
class StepOrder {
  constructor(private readonly step: TextStep) {}

  readonly compare = (a: Times, b: Times): number =>
    this.step.isDescending ? b.last - a.last : a.first - b.first;

  /** False for times at which earlier steps have looked already. */
  isAhead({ first, last }: Times): boolean {
    const { from, isDescending } = this.step;
    return from === null || (isDescending ? first < from : last > from);
  }

  /** True if the step may end before `next`. It must get ahead of the step before. */
  isEnough(count: number, ...next: (Times | undefined)[]): boolean {
    const end = this.before(...next);
    const { from, isDescending, most } = this.step;
    return (
      count >= most && end !== null && (from === null || (isDescending ? end < from : end > from))
    );
  }

  /** Returns the time up to which everything was looked at, if these come next. */
  before(...next: (Times | undefined)[]): number | null {
    const left = next.filter((one) => one !== undefined);
    if (left.length === 0) return null;
    return this.step.isDescending
      ? Math.max(...left.map(({ last }) => last)) + 1
      : Math.min(...left.map(({ first }) => first)) - 1;
  }
}
