import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { memberTexts } from '../../platform/json/json-text.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { productionFilter } from '../../tracing/production-filter.js';
import { CallLists } from '../../tracing/calls/read/call-lists.service.js';
import { BRIEF_COLUMNS, briefCall, listRow } from './call-rows.js';
import { differences } from './differences.js';
import { CALL_PARTS, CompareCallsToolDto, ReadCallToolDto, SearchCallsToolDto } from './mcp.dto.js';
import { type ToolAnswer, divideBytes, jsonExcerpt } from './tool-answer.js';
import {
  type ToolRequest,
  byMembers,
  byOffset,
  toolPage,
  pageLimit,
  tool,
  type ToolSource,
} from './tool.js';

/** Larger calls are not compared, because all values of both calls are split up in memory, level by level. */
export const MAX_COMPARED_BYTES = 1024 * 1024;

@Injectable()
export class CallTools implements ToolSource {
  constructor(
    private readonly calls: CallsService,
    private readonly lists: CallLists,
  ) {}

  readonly tools = [
    tool({
      name: 'search_calls',
      description: `Finds calls, by default the newest first, as brief rows: id, trace_id, op, started_at, status, ms, tokens, cost, error. \`columns\` answers those fields instead. \`query\` is a tree of conditions on any field, also inside JSON:
{"$expr":{"$and":[{"$eq":[{"$getField":"op_name"},{"$literal":"answer"}]},{"$gt":[{"$getField":"started_at"},{"$literal":"2026-11-21T00:00:00Z"}]}]}}
Also $or $not $eq $gt $gte $in $contains; {"$contains":{"input":{"$getField":"inputs.question"},"substr":{"$literal":"refund"}}}. Derived: summary.svc.status (success, error, running, descendant_error), summary.svc.latency_ms. The resource skein://query-language has the rest. The slowest first: sort_by [{"field":"summary.svc.latency_ms","direction":"desc"}].`,
      role: 'reader',
      dto: SearchCallsToolDto,
      shown: [
        'project_id',
        'query',
        'filter',
        'sort_by',
        'columns',
        'limit',
        'after',
        'offset',
        'max_tokens',
      ],
      described: {
        filter: {
          description:
            'lists op_names, trace_ids, parent_ids, call_ids, thread_ids, sources (production; evaluation, playground); trace_roots_only: true',
        },
      },
      run: (args, asked) => this.search(args, asked),
    }),
    tool({
      name: 'read_call',
      description:
        'One call with its inputs, output, exception, attributes and summary. Parts that are larger than max_tokens allows are cut, with next_offset: name the part and this offset to read on.',
      role: 'reader',
      dto: ReadCallToolDto,
      shown: ['project_id', 'id', 'part', 'offset', 'max_tokens'],
      run: (args, asked) => this.read(args, asked),
    }),
    tool({
      name: 'compare_calls',
      description:
        'What differs between two calls: the paths of their inputs, output, attributes, exception and summary whose values are not the same text, with both values.',
      role: 'reader',
      dto: CompareCallsToolDto,
      shown: ['project_id', 'left', 'right', 'max_tokens'],
      run: (args, asked) => this.compare(args, asked),
    }),
  ];

  private async search(args: SearchCallsToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const { columns, sort_by } = args;
    const isBrief = !columns || columns.length === 0;
    const limit = pageLimit(args.limit);
    const query = Object.assign({}, args, {
      limit,
      filter: productionFilter(args.filter, args.query),
      sort_by: sort_by ?? [{ field: 'started_at', direction: 'desc' as const }],
      ...(isBrief && { columns: BRIEF_COLUMNS, include_costs: true }),
    });
    const rows = asked.budget.texts(await this.lists.stream(query));
    const isByTime = !sort_by;
    return toolPage('calls', isBrief ? briefRows(rows) : rows, asked, {
      limit,
      after: isByTime ? byMembers('started_at', 'id') : byOffset(args.offset),
    });
  }

  private async read({ project_id, id, part, offset }: ReadCallToolDto, asked: ToolRequest) {
    const { budget, context } = asked;
    const call = await this.calls.read({ project_id, id, include_costs: !part }, context);
    if (!call) throw noCall();
    const texts = memberTexts(call.toString());
    if (part) {
      const recorded = `{"${part}":${jsonExcerpt(texts.get(part)!, budget.left, offset ?? 0)}}`;
      return { words: `The part ${part} of the call.`, recorded };
    }
    return { words: 'The call.', recorded: wholeCall(texts, budget.left) };
  }

  private async compare({ project_id, left, right }: CompareCallsToolDto, asked: ToolRequest) {
    const read = async (id: string) => {
      const call = await this.calls.read({ project_id, id }, asked.context);
      if (!call) throw noCall();
      if (call.length > MAX_COMPARED_BYTES)
        throw new ApiError(
          'too_large',
          `a call has ${call.length} bytes, over the limit of ${MAX_COMPARED_BYTES} for a comparison: read the parts of both`,
        );
      return call.toString();
    };
    return differences(await read(left), await read(right), asked.budget);
  }
}

export const noCall = () =>
  new ApiError('not_found', 'no call with this id has started in the project');

async function* briefRows(rows: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const row of rows) yield listRow(briefCall(row));
}

const FACTS = [
  'id',
  'trace_id',
  'parent_id',
  'op_name',
  'display_name',
  'thread_id',
  'turn_id',
  'started_at',
  'ended_at',
];

function wholeCall(texts: ReadonlyMap<string, string>, room: number): string {
  const facts = FACTS.map((name) => `"${name}":${texts.get(name)}`).join(',');
  const parts = CALL_PARTS.filter((name) => texts.get(name) !== 'null');
  return `{${facts},${callPartMembers(parts, texts, room - Buffer.byteLength(facts))}}`;
}

/** Returns parts of a call as members that share `room` bytes. */
export function callPartMembers(
  parts: readonly string[],
  texts: ReadonlyMap<string, string>,
  room: number,
): string {
  const sizes = parts.map((name) => Buffer.byteLength(texts.get(name)!) + name.length + 14);
  const rooms = divideBytes(sizes, room);
  return parts
    .map((name, i) => `"${name}":${jsonExcerpt(texts.get(name)!, rooms[i]! - name.length - 4)}`)
    .join(',');
}
