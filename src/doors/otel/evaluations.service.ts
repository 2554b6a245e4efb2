import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { FeedbackService } from '../../tracing/feedback/feedback.service.js';
import { type Evaluation, evaluationFeedback } from './evaluations.js';

const AT_ONCE = 500;

@Injectable()
export class EvaluationsService {
  constructor(
    private readonly calls: CallsService,
    private readonly feedback: FeedbackService,
  ) {}

  /**
   * Stores evaluations as feedback on the calls of their spans, even if these calls are not stored yet. Returns the
   * reasons for refusals.
   */
  async store(evaluations: readonly Evaluation[], caller: Caller): Promise<Error[]> {
    const refused: Error[] = [];
    const bodies: Record<string, unknown>[] = [];
    for (const evaluation of evaluations) {
      const callId = evaluation.spanId ?? (await this.findCall(evaluation));
      if (callId === undefined)
        refused.push(
          new Error(
            `no call has the response ${evaluation.responseId!}, and the evaluation names no span`,
          ),
        );
      else bodies.push(evaluationFeedback(evaluation, callId));
    }
    for (let from = 0; from < bodies.length; from += AT_ONCE) {
      const part = bodies.slice(from, from + AT_ONCE);
      const texts = part.map((body) => JSON.stringify(body));
      const answers = await this.feedback.createAll(part, texts, caller);
      for (const answer of answers)
        if (typeof answer !== 'string') refused.push(new Error(answer.error.detail));
    }
    return refused;
  }

  private findCall({ projectId, responseId }: Evaluation): Promise<string | undefined> {
    return this.calls.findByResponse(projectId, responseId!);
  }
}
