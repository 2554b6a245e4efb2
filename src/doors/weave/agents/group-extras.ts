import { ApiError } from '../../../platform/errors.js';
import type { Database } from '../../../platform/database/database.js';
import type { DocumentReader } from '../../../platform/http/document-reader.js';
import type { Decimal } from '../../../platform/json/decimal.js';
import type { Sql } from '../../../platform/query/sql.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import type { SpanMessage } from './span-messages.js';
import { edgeSpans } from './group-extras.query.js';
import type { GroupRefDto, SpansQueryDto } from './agents.dto.js';
import { aliasOf, GROUP_COLUMN_NAMES, type GroupRow } from './span-groups.query.js';
import { spanMessages, costsOf, sumKnown } from './span-row.js';
import { keyValue } from './span-stats.query.js';
import type { SpanSourceCall } from './spans.query.js';

/** Spans whose costs are summed up for one answer. */
export const MAX_COSTED = 100_000;
/** Conversations for which the first and last message are read. */
const MAX_EDGES = 200;
const SPANS_AT_ONCE = 64;
const PREVIEW = 500;

interface GroupCost {
  input: Decimal | null;
  output: Decimal | null;
  total: Decimal | null;
}

interface CostedSpan {
  keys: (string | null)[];
  span: SpanSourceCall;
}

/**
 * Sums up the costs of groups, keyed by their keys as JSON. Each row has a span and the keys of its group.
 * @throws ApiError `too_large`
 */
export async function sumCosts(database: Database, query: Sql): Promise<Map<string, GroupCost>> {
  const sums = new Map<string, GroupCost>();
  const turn = new EventLoopTurn();
  let count = 0;
  const batches = await database.stream(query, { maxBatch: 1000 });
  for await (const batch of batches as AsyncIterable<string[]>)
    for (const json of batch) {
      if (++count > MAX_COSTED)
        throw new ApiError(
          'too_large',
          `there are over ${MAX_COSTED} spans with costs: ask for less time, or without include_costs`,
        );
      if (turn.isOver) await turn.next();
      const { keys, span } = JSON.parse(json) as CostedSpan; // the usage of a call has at most 1000 models
      const key = JSON.stringify(keys);
      const own = costsOf(span);
      const sum = sums.get(key);
      sums.set(key, {
        input: sumKnown([sum?.input ?? null, own.input]),
        output: sumKnown([sum?.output ?? null, own.output]),
        total: sumKnown([sum?.total ?? null, own.total]),
      });
    }
  return sums;
}

interface MessagePreview {
  role: 'user_message' | 'assistant_message';
  text: string;
}

interface FirstLastMessages {
  first: MessagePreview | null;
  last: MessagePreview | null;
}

/** The first or the last span of a conversation. */
interface EdgeSpan {
  id: string;
  is_first: boolean;
  span: SpanSourceCall;
}

/** Reads the first and the last message of each group, when groups are conversations. */
export async function groupMessages(
  database: Database,
  { project_id: projectId, group_by: groupBy }: SpansQueryDto,
  rows: readonly GroupRow[],
  documents: DocumentReader,
): Promise<FirstLastMessages[]> {
  if (!areConversations(groupBy!)) return [];
  const places = new Map(rows.slice(0, MAX_EDGES).map(({ keys }, i) => [keys[0], i]));
  const ids = [...places.keys()].filter((id) => typeof id === 'string');
  const edges = rows.map((): FirstLastMessages => ({ first: null, last: null }));
  const batches = await database.stream(edgeSpans(projectId, ids), {
    maxBatch: SPANS_AT_ONCE,
  });
  for await (const batch of batches as AsyncIterable<string[]>)
    for (const json of batch) {
      const { id, is_first, span } = await documents.read<EdgeSpan>(json);
      const edge = edges[places.get(id)!]!;
      if (is_first) edge.first = questionPreview(span) ?? answerPreview(span);
      else edge.last = answerPreview(span) ?? questionPreview(span);
    }
  return edges;
}

const areConversations = ([ref, ...more]: readonly GroupRefDto[]) =>
  more.length === 0 &&
  !ref!.source?.startsWith('custom') &&
  /(^|\.)conversation[._]id$/.test(ref!.key);

const questionPreview = (span: SpanSourceCall) =>
  preview(
    'user_message',
    spanMessages(span).input_messages.findLast(({ role, said }) => role === 'user' && said !== ''),
  );
const answerPreview = (span: SpanSourceCall) =>
  preview(
    'assistant_message',
    spanMessages(span).output_messages.findLast(({ said }) => said !== ''),
  );

const preview = (
  role: MessagePreview['role'],
  message: SpanMessage | undefined,
): MessagePreview | null =>
  message ? { role, text: message.said.trim().slice(0, PREVIEW) } : null;

/** Returns a group as answers show it. */
export const groupRow = (
  { keys, measures, ...row }: GroupRow,
  { group_by, measures: asked }: SpansQueryDto,
  cost: GroupCost = { input: null, output: null, total: null },
  edges: FirstLastMessages = { first: null, last: null },
): object => ({
  group_keys: Object.fromEntries(
    (group_by ?? []).map((ref, i) => [aliasOf(ref), keyValue(ref, keys[i]!)]),
  ),
  ...Object.fromEntries(GROUP_COLUMN_NAMES.map((name) => [name, row[name]])),
  metrics: Object.fromEntries((asked ?? []).map(({ alias }, i) => [alias, measures[i]])),
  distributions: {},
  total_cost_usd: cost.total,
  total_input_cost_usd: cost.input,
  total_output_cost_usd: cost.output,
  first_message: edges.first,
  last_message: edges.last,
});
