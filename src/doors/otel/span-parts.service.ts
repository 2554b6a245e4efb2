import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { AgentTurns } from '../../tracing/calls/agent-turns/agent-turns.service.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { FoldedSpans } from '../../tracing/calls/folded/folded-spans.service.js';
import { EvaluationsService } from './evaluations.service.js';
import type { SpanPart } from './span-part.js';

interface PartErrors {
  ofCalls: Error[];
  ofEvaluations: Error[];
}

/** Stores parts of requests: first the calls of spans, then the turns and the feedback that depend on them. */
@Injectable()
export class SpanPartsService {
  constructor(
    private readonly calls: CallsService,
    private readonly turns: AgentTurns,
    private readonly evaluations: EvaluationsService,
    private readonly folded: FoldedSpans,
  ) {}

  async store(part: SpanPart, caller: Caller): Promise<PartErrors> {
    const answers = await this.calls.storeCalls(part.calls, caller);
    for (const [projectId, traceIds] of await this.unfold(part, caller))
      for (const traceId of traceIds) part.noteTurn(projectId, traceId);
    for (const [projectId, traceIds] of part.turnTraces)
      await this.calls.settleTurns(projectId, [...traceIds], caller.owner);
    for (const [projectId, traceIds] of part.agentTraces)
      await this.turns.settleTraces(projectId, [...traceIds]);
    const { evaluations } = part;
    return {
      ofCalls: answers.flatMap((one) => ('error' in one ? [new Error(one.error.detail)] : [])),
      ofEvaluations:
        evaluations.length > 0 ? await this.evaluations.store(evaluations, caller) : [],
    };
  }

  /**
   * Stores the folded spans of a part, and moves calls below folded spans to the nearest stored call above. Returns the
   * traces of these calls.
   */
  private async unfold(part: SpanPart, { owner }: Caller): Promise<Map<string, Set<string>>> {
    for (const [projectId, spans] of part.folded) await this.folded.fold(projectId, spans, owner);
    const unfolded = new Map<string, Set<string>>();
    for (const [projectId, traceIds] of part.belowTraces)
      if (await this.folded.hasAny(projectId, owner)) {
        await this.folded.unfold(projectId, [...traceIds]);
        unfolded.set(projectId, traceIds);
      }
    return unfolded;
  }
}
