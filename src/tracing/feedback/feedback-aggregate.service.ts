import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { invalidRequest } from '../../platform/errors.js';
import { isObject } from '../../platform/json/json-object.js';
import { escapedStep } from '../../platform/query/columns.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { boundedRows } from '../bounded-rows.js';
import type {
  FeedbackAggregateDto,
  FeedbackAggregatedDto,
  PayloadPathsDto,
  PayloadSchemaDto,
} from './feedback-aggregate.dto.js';
import { type AggregateRow, aggregateQuery, sampledPayloads } from './feedback-aggregate.query.js';

const USUAL_SAMPLES = 2000;
/** Limits of one answer: paths, and steps of a path. */
const MAX_PATHS = 1000;
const MAX_STEPS = 16;

type Bucket = FeedbackAggregatedDto['buckets'][number];

@Injectable()
export class FeedbackAggregateService {
  constructor(private readonly database: Database) {}

  async aggregate(asked: FeedbackAggregateDto): Promise<FeedbackAggregatedDto> {
    const { after_ms, before_ms, time_bucket_seconds = null } = asked;
    if (before_ms <= after_ms)
      throw invalidRequest([{ path: 'before_ms', message: 'must be above after_ms' }]);
    const rows = await boundedRows(this.database, aggregateQuery(asked));
    const buckets = new Map<string, Bucket>();
    for (const row of rows) addTo(buckets, row, asked);
    return { after_ms, before_ms, time_bucket_seconds, buckets: [...buckets.values()] };
  }

  async payloadPaths(asked: PayloadSchemaDto): Promise<PayloadPathsDto> {
    const rows = await boundedRows(
      this.database,
      sampledPayloads(asked, asked.sample_limit ?? USUAL_SAMPLES),
    );
    const types = new Map<string, string>();
    const turn = new EventLoopTurn();
    for (const { payload } of rows) {
      if (turn.isOver) await turn.next();
      addPaths(types, payload);
    }
    const paths = [...types].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { paths: paths.map(([json_path, value_type]) => ({ json_path, value_type })) };
  }
}

/** Adds a row to its bucket. The rows of a bucket come in the order of their kinds: ratings, tags, total. */
function addTo(
  buckets: Map<string, Bucket>,
  { bucket, keys, kind, name, count, scored, sum }: AggregateRow,
  { group_by }: FeedbackAggregateDto,
): void {
  const key = JSON.stringify([bucket, keys]);
  let found = buckets.get(key);
  if (!found)
    buckets.set(
      key,
      (found = {
        time_bucket_start_ms: bucket,
        group: Object.fromEntries((group_by ?? []).map((dimension, i) => [dimension, keys[i]!])),
        total_count: 0,
        scored_count: 0,
        tag_counts: {},
        rating_sums: {},
        rating_counts: {},
      }),
    );
  if (kind === 'total') Object.assign(found, { total_count: count, scored_count: scored });
  else if (kind === 'tag') put(found.tag_counts, name!, count);
  else {
    put(found.rating_sums, name!, sum);
    put(found.rating_counts, name!, count);
  }
}

/** Sets a member, even for the name `__proto__`. */
const put = (map: Record<string, number>, name: string, value: number) =>
  Object.defineProperty(map, name, { value, enumerable: true });

/** Adds the paths to values that are no objects, up to `MAX_PATHS`. A path with values of two types is categorical. */
function addPaths(types: Map<string, string>, payload: unknown): void {
  const waiting: { value: unknown; steps: string[] }[] = [{ value: payload, steps: [] }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, steps } = next;
    if (isObject(value)) {
      if (steps.length < MAX_STEPS)
        for (const [name, member] of Object.entries(value))
          waiting.push({ value: member, steps: [...steps, escapedStep(name)] });
      continue;
    }
    const type = TYPES[typeof value];
    const path = steps.join('.');
    if (!type || steps.length === 0 || path.length > 1000) continue;
    const known = types.get(path);
    if (known === undefined && types.size >= MAX_PATHS) continue;
    types.set(path, known === undefined || known === type ? type : 'categorical');
  }
}

const TYPES: Partial<Record<string, string>> = {
  number: 'numeric',
  boolean: 'boolean',
  string: 'categorical',
};
