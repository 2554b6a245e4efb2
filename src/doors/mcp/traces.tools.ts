import { Injectable } from '@nestjs/common';
import { memberTexts } from '../../platform/json/json-text.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { CallLists } from '../../tracing/calls/read/call-lists.service.js';
import {
  BRIEF_COLUMNS,
  type BriefCall,
  briefCall,
  TREE_COLUMNS,
  treeRowBytes,
  treeRows,
} from './call-rows.js';
import { noCall, callPartMembers } from './calls.tools.js';
import { MAX_CHOSEN, ReadTraceToolDto } from './mcp.dto.js';
import type { ToolAnswer, AnswerBudget } from './tool-answer.js';
import { type ToolRequest, tool, type ToolSource } from './tool.js';

/** Maximum number of calls on a page of a trace. The budget of an answer has room for a few hundred. */
export const MAX_CALLS = 2000;

const PAYLOADS = ['inputs', 'output', 'exception'];

@Injectable()
export class TraceTools implements ToolSource {
  constructor(
    private readonly calls: CallsService,
    private readonly lists: CallLists,
  ) {}

  readonly tools = [
    tool({
      name: 'read_trace',
      description: `A trace as a tree, parents before children: rows of ${TREE_COLUMNS.join(', ')}, then notes (error; parent_id if the parent is on another page). Read this first, then ask again with call_ids (at most ${MAX_CHOSEN}) for the inputs, output and exception of those that matter: the tree then gets half of the room. A larger trace goes on with after, by the start of calls.`,
      role: 'reader',
      dto: ReadTraceToolDto,
      shown: ['project_id', 'trace_id', 'call_ids', 'after', 'max_tokens'],
      run: (args, asked) => this.read(args, asked),
    }),
  ];

  private async read(args: ReadTraceToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const { project_id, call_ids } = args;
    const { budget } = asked;
    const chosen = call_ids ?? [];
    const payloadBytes = chosen.length > 0 ? Math.floor(budget.left / 2) : 0;
    budget.left -= payloadBytes;
    const { calls, isMore } = await this.skeleton(args, budget);
    if (calls.length === 0 && !args.after) throw noCall();
    budget.left += payloadBytes;
    const members = [
      `"columns":${JSON.stringify(TREE_COLUMNS)}`,
      `"started_at":${JSON.stringify(calls[0]?.startedAt ?? null)}`,
      `"calls":[${treeRows(calls).join(',\n')}]`,
    ];
    if (chosen.length > 0)
      members.push(`"payloads":{${await this.payloads(project_id, chosen, asked)}}`);
    const last = calls.at(-1);
    if (isMore && last) members.push(`"next_after":${JSON.stringify([last.startedAt, last.id])}`);
    return {
      words: `${calls.length} calls of the trace.${isMore ? ' There are more: ask again with after, which is next_after at the end of the recorded data.' : ' These are all.'}`,
      recorded: `{${members.join(',\n')}}`,
    };
  }

  /** Reads the calls of a page in the order of their starts, as many as fit into the budget. */
  private async skeleton({ project_id, trace_id, after }: ReadTraceToolDto, budget: AnswerBudget) {
    const stream = await this.lists.stream({
      project_id,
      filter: { trace_ids: [trace_id] },
      columns: BRIEF_COLUMNS,
      include_costs: true,
      limit: MAX_CALLS,
      after: after ?? null,
    });
    const calls: BriefCall[] = [];
    for await (const row of budget.texts(stream)) {
      const call = briefCall(row);
      const bytes = treeRowBytes(call);
      if (bytes > budget.left) return { calls, isMore: true };
      budget.left -= bytes;
      calls.push(call);
    }
    return { calls, isMore: calls.length === MAX_CALLS };
  }

  private async payloads(projectId: string, chosen: readonly string[], asked: ToolRequest) {
    const { budget, context } = asked;
    const ids = [...new Set(chosen)];
    const members: string[] = [];
    for (const [i, id] of ids.entries()) {
      budget.assertInTime();
      await context.caller.assertValid();
      const name = JSON.stringify(id);
      const room = Math.floor(budget.left / (ids.length - i)) - Buffer.byteLength(name) - 8;
      const text = await this.payload(projectId, id, room, asked);
      members.push(`${name}:${text}`);
      budget.left -= Buffer.byteLength(name) + Buffer.byteLength(text) + 2;
    }
    return members.join(',\n');
  }

  private async payload(project_id: string, id: string, room: number, { context }: ToolRequest) {
    const call = await this.calls.read({ project_id, id }, context);
    if (!call) return '{"left_out":"no such call"}';
    const texts = memberTexts(call.toString());
    const parts = PAYLOADS.filter((name) => texts.get(name) !== 'null');
    return `{${callPartMembers(parts, texts, room)}}`;
  }
}
