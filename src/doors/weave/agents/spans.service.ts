import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { invalidRequest } from '../../../platform/errors.js';
import { printDecimals } from '../../../platform/json/decimal.js';
import type { Sort } from '../../../platform/query/columns.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { type CustomAttributesFoundDto, type SpanStatsAnswerDto } from './agents.answers.dto.js';
import {
  type CustomAttributesDto,
  type SpansQueryDto,
  type SpanStatsDto,
  USUAL_ROWS,
} from './agents.dto.js';
import { boundedRows } from '../../../tracing/bounded-rows.js';
import { readWindow, TimeBuckets, windowFrame } from '../../../tracing/statistics/time-buckets.js';
import { groupMessages, groupRow, MAX_COSTED, sumCosts } from './group-extras.js';
import { costedSpans } from './group-extras.query.js';
import { aliasOf, groupsQuery } from './span-groups.query.js';
import { spanRow } from './span-row.js';
import { keyValue, type SpanStatsRow, statColumns, statsQuery } from './span-stats.query.js';
import { countedSources } from './span-source.js';
import { hasSignals } from './signals.query.js';
import { customAttributes, type SpanSourceCall, spansCount, spansQuery } from './spans.query.js';

const DAY_MS = 86_400_000;
const MAX_DAYS = 31;
/** Spans in one batch, since each may be as large as a request body. */
const SPANS_AT_ONCE = 64;

/** A page of spans or groups: their JSON texts, and the members that follow them in the answer. */
export interface SpansPage {
  name: 'spans' | 'groups';
  rows: Readable;
  members: () => string;
}

@Injectable()
export class SpansService {
  constructor(private readonly database: Database) {}

  async query(asked: SpansQueryDto, context: Context): Promise<SpansPage> {
    if (asked.group_by?.length) return this.groups(asked, context);
    if (asked.measures?.length || asked.group_filters?.length)
      throw invalidRequest([
        { path: 'group_by', message: 'is required with measures and group_filters' },
      ]);
    const signals = hasSignals(asked);
    const hasDetails = asked.include_details === true;
    const hasCosts = asked.include_costs === true;
    const { project_id } = asked;
    const details = { project_id, hasDocuments: hasDetails, hasRaw: hasDetails, hasCosts };
    const wanted = { ...spanSelection(asked), ...pageOf(asked) };
    const [count] = await this.database.query(spansCount(wanted, signals), { long: 'read' });
    const batches = await this.database.stream(spansQuery(wanted, details, signals), {
      maxBatch: SPANS_AT_ONCE,
    });
    const shown = (row: SpanSourceCall) => spanRow(row, project_id, { hasCosts, hasDetails });
    return {
      name: 'spans',
      rows: linkedStream(rowTexts(batches, shown, context), batches),
      members: () => `"groups":[],"total_count":${count!.total_count}`,
    };
  }

  private async groups(asked: SpansQueryDto, { hold }: Context): Promise<SpansPage> {
    const documents = new DocumentReader(hold);
    const { measures, group_filters } = asked;
    const group_by = asked.group_by!;
    const signals = hasSignals(asked);
    const wanted = { ...spanSelection(asked), ...pageOf(asked), group_by, measures, group_filters };
    const rows = await boundedRows(this.database, groupsQuery(wanted, signals));
    const total = await totalOf(rows, wanted, (page) =>
      this.database.query(groupsQuery({ ...wanted, ...page }, signals), { long: 'read' }),
    );
    const costs = asked.include_costs
      ? await sumCosts(this.database, costedSpans(wanted, signals, MAX_COSTED + 1))
      : null;
    const edges = await groupMessages(this.database, asked, rows, documents);
    const texts = await mapYielding(rows, (row, i) =>
      printDecimals(groupRow(row, asked, costs?.get(JSON.stringify(row.keys)), edges[i])),
    );
    return {
      name: 'groups',
      rows: Readable.from([texts]),
      members: () => `"spans":[],"total_count":${total}`,
    };
  }

  async customAttributes(asked: CustomAttributesDto): Promise<CustomAttributesFoundDto> {
    const limit = asked.limit ?? 200;
    const offset = asked.offset ?? 0;
    const rows = await this.database.query(
      customAttributes({ ...spanSelection(asked), limit, offset }),
      { long: 'read' },
    );
    const attributes = rows.slice(0, limit).map(({ key, value_type, span_count }) => ({
      source: `custom_attrs_${value_type}`,
      key,
      value_type,
      span_count,
    }));
    return { attributes, limit, offset, has_more: rows.length > limit };
  }

  async stats(asked: SpanStatsDto): Promise<SpanStatsAnswerDto> {
    const window = readWindow(asked);
    if (+window.to - +window.from > MAX_DAYS * DAY_MS)
      throw invalidRequest([
        { path: 'end', message: `must be at most ${MAX_DAYS} days after start` },
      ]);
    const signals = hasSignals(asked);
    const groups = asked.group_by ?? [];
    const columns = statColumns(asked);
    const buckets = await this.database.transaction({ long: 'read' }, () => TimeBuckets.of(window));
    const counted = Object.assign({}, asked, { sources: countedSources(asked) });
    const rows = await boundedRows(this.database, statsQuery(counted, buckets, signals));
    const metrics = columns.filter(({ role }) => role === 'metric');
    const shown = (row: SpanStatsRow) => [
      ['timestamp', buckets.timestamp(row.bucket)],
      ...groups.map((ref, i) => [aliasOf(ref), keyValue(ref, row.keys[i]!)]),
      ...metrics.map(({ name }, i) => [name, row.values[i] ?? null]),
    ];
    return {
      ...windowFrame(window),
      bucket_type: 'time',
      columns,
      rows: await mapYielding(rows, (row) => Object.fromEntries(shown(row)) as object),
    };
  }
}

const spanSelection = ({
  project_id,
  query,
  started_after,
  started_before,
  sources,
}: SpansQueryDto) => ({
  project_id,
  sources: countedSources({ sources, query }),
  query,
  started_after,
  started_before,
});

/** Returns the page and the sort orders, with defaults filled in. */
const pageOf = ({ limit, offset, sort_by }: SpansQueryDto) => ({
  limit: limit ?? USUAL_ROWS,
  offset: offset ?? 0,
  sort_by: sort_by?.map(withDirection) ?? null,
});

export const withDirection = <Field extends string>({
  field,
  direction,
}: {
  field: Field;
  direction?: 'asc' | 'desc' | null;
}): Sort<Field> => ({ field, direction: direction ?? 'desc' });

/** Returns the total that each row of a page contains. For a page without rows, it is read with the first row. */
export async function totalOf(
  rows: readonly { total_count: number }[],
  { limit, offset }: { limit: number; offset: number },
  ask: (page: { limit: number; offset: number }) => Promise<{ total_count: number }[]>,
): Promise<number> {
  const [row] = rows.length === 0 && (limit === 0 || offset > 0) ? await ask(FIRST) : rows;
  return row?.total_count ?? 0;
}
const FIRST = { limit: 1, offset: 0 };

/** Yields rows as the answer contains them. */
async function* rowTexts(
  batches: Readable,
  shown: (row: SpanSourceCall) => object,
  { hold }: Context,
): AsyncGenerator<string[]> {
  const documents = new DocumentReader(hold);
  for await (const batch of batches as AsyncIterable<string[]>) {
    const texts: string[] = [];
    for (const json of batch)
      texts.push(printDecimals(shown(await documents.read<SpanSourceCall>(json))));
    yield texts;
  }
}

/** Returns a stream of texts that destroys its source when it closes. */
function linkedStream(texts: AsyncGenerator<string[]>, source: Readable): Readable {
  const rows = Readable.from(texts, { highWaterMark: 1 });
  rows.once('close', () => source.destroy());
  return rows;
}
