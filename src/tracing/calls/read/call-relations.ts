import { column, InvalidQuery } from '../../../platform/query/columns.js';
import { relationKey, type Relations } from '../../../platform/query/expression.js';
import { computedOnce, lookedUp, pageLimit, unseen } from '../../../platform/query/plans.js';
import { allOf, identifier, isOneOf, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';

/** Maximum number of calls above a call that `$ancestor` looks at. */
const MAX_ABOVE = 100;
/** If the calls that fulfil the condition of a relation have no more ids than this, the ids replace the condition. */
const FEW = 2000;
/** Most calls that are read to find the ids of their traces. A large trace may have many that fulfil the condition. */
const MOST_READ = 50_000;

/** Ids of traces or calls, and how many of the read calls have each. */
export type RelatedIds = { id: string; calls: number }[];

/** A statement that returns the ids of the traces or calls that fulfil the condition of a relation. */
export interface RelationProbe {
  key: string;
  query: Sql<RelatedIds[number]>;
}

/**
 * Knows which calls fulfil the relations of one request. A relation that few calls fulfil is compiled to their ids,
 * which an index serves. Otherwise the related calls are looked up for each call.
 */
export class KnownRelations {
  /** Ids by relation. Null if they are too many, or took too long to find. */
  private readonly ids = new Map<string, readonly string[] | null>();
  /** The first relation that was compiled without knowing its ids. */
  private asked: RelationProbe | undefined;

  /** Only calls of these traces are asked for, if there are any. Related calls are of the same trace. */
  constructor(readonly traceIds: readonly string[] | null | undefined) {}

  take(): RelationProbe | undefined {
    const { asked } = this;
    this.asked = undefined;
    return asked;
  }

  /** Stores the rows of a probe, or null if it took too long. */
  set({ key }: RelationProbe, rows: RelatedIds | null): void {
    const read = rows?.reduce((sum, { calls }) => sum + calls, 0) ?? Infinity;
    const isKnown = read <= MOST_READ && rows!.length <= FEW;
    this.ids.set(key, isKnown ? rows!.map(({ id }) => id) : null);
  }

  idsOf(key: string, find: () => Sql): readonly string[] | null {
    const ids = this.ids.get(key);
    if (ids === undefined)
      this.asked ??= {
        key,
        query: sql`SELECT m.id, count(*)::int AS calls FROM (${find()}) m GROUP BY m.id ${pageLimit(FEW + 1)}`,
      };
    return ids ?? null;
  }

  /** True for a relation that is compiled to ids. */
  hasIds(operator: string, argument: unknown): boolean {
    return Boolean(this.ids.get(relationKey(operator, argument)));
  }
}

export const RELATIONS = ['$any', '$parent', '$ancestor', '$first_llm', '$child_count'];

/** Operators over the other calls of the trace of the call `c`. `known` is missing where they cannot be used. */
export function callRelations(projectId: string, known: KnownRelations | undefined): Relations {
  const isSeen = visibleIn(projectId);
  const idsOf = (what: 'id' | 'trace_id', key: string, condition: Sql, among?: Sql) => {
    if (!known) throw new NeedsRelations();
    return known.idsOf(
      key,
      () =>
        sql`SELECT c.${identifier(what)} AS id FROM calls c
          WHERE ${allOf(isSeen, isOneOf(sql`c.trace_id`, known.traceIds), among, condition)}
          ${pageLimit(1 + (what === 'id' ? FEW : MOST_READ))}`,
    );
  };
  const inTraces = (ids: readonly string[] | null, found: Sql) =>
    ids ? sql`(c.trace_id = ANY(${ids}::text[]) AND ${found})` : found;
  const conditions: Relations['conditions'] = {
    $any(condition, key) {
      const ids = idsOf('trace_id', key, condition);
      if (ids) return sql`(c.trace_id = ANY(${ids}::text[]))`;
      return exists(
        sql`SELECT FROM calls c WHERE ${isSeen} AND c.trace_id = here.trace_id AND ${unseen(condition)} LIMIT 1`,
      );
    },
    $parent(condition, key) {
      const ids = idsOf('id', key, condition);
      const found = exists(sql`SELECT FROM calls c WHERE ${isSeen} AND c.id = here.parent_id
        AND ${unseen(sql`c.trace_id = here.trace_id AND ${condition}`)}`);
      return ids
        ? sql`(c.parent_id IS NOT NULL AND c.parent_id = ANY(${ids}::text[]) AND ${found})`
        : found;
    },
    $ancestor(condition, key) {
      const ids = idsOf('trace_id', key, condition);
      return inTraces(ids, isBelow(isSeen, condition));
    },
    $first_llm(condition, key) {
      const ids = idsOf('trace_id', key, condition, USES_MODEL);
      const first = computedOnce(
        sql`SELECT c.* FROM calls c WHERE ${isSeen} AND c.trace_id = here.trace_id AND ${USES_MODEL}
          ORDER BY c.started_at, c.id LIMIT 1`,
        'c',
      );
      return inTraces(ids, exists(sql`SELECT FROM ${first} WHERE ${condition}`));
    },
  };
  const $child_count = (condition: Sql | null) => {
    if (!known) throw new NeedsRelations();
    const children = sql`SELECT c.id FROM calls c WHERE ${allOf(
      isSeen,
      sql`c.parent_id = here.id`,
      unseen(allOf(sql`c.trace_id = here.trace_id`, condition)),
    )}`;
    return column.number(sql`(SELECT count(*) FROM ${HERE} ${lookedUp(children, 'child')})`);
  };
  return { conditions, counts: { $child_count } };
}

/** A call that reported the usage of a model. */
const USES_MODEL = sql`c.usage IS NOT NULL`;

/** The call in question. Inside of it, `c` is another call. */
const HERE = computedOnce(sql`SELECT c.id, c.parent_id, c.trace_id`, 'here');

const exists = (others: Sql) => sql`EXISTS (SELECT FROM ${HERE} ${lookedUp(others, 'other')})`;

/** A circle of parents ends at a call that was already found. */
const isBelow = (isSeen: Sql, condition: Sql) => sql`EXISTS (
  WITH RECURSIVE above AS (
    SELECT here.parent_id, here.trace_id, FALSE AS is_met, 0 AS level FROM ${HERE}
    UNION ALL
    SELECT p.*, above.level + 1 FROM above ${lookedUp(
      sql`SELECT c.parent_id, c.trace_id, ${unseen(condition)} AS is_met FROM calls c
        WHERE ${isSeen} AND c.id = above.parent_id AND ${unseen(sql`c.trace_id = above.trace_id`)}`,
      'p',
    )} WHERE NOT above.is_met AND above.level < ${MAX_ABOVE}::int)
  SELECT FROM above WHERE above.is_met)`;

class NeedsRelations extends InvalidQuery {
  constructor() {
    super(
      'query',
      `names one of ${RELATIONS.join(', ')}, which only lists, counts, statistics, usage and datasets of calls can use: other calls may change before a later read`,
    );
  }
}
