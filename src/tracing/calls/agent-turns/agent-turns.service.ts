import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { Database } from '../../../platform/database/database.js';
import { CALLS } from '../call.entity.js';
import { CallsService, type ItemAnswer, type WholeCall } from '../calls.service.js';
import { CallSources } from '../source/call-sources.service.js';
import { settledCalls } from './agent-turns.js';
import {
  agentSpans,
  sessionCalls,
  sessionLock,
  sessionsOf,
  settleQuery,
} from './agent-turns.query.js';

/** A session of a coding agent. `from` is the start of the earliest of the calls to store. */
interface AgentSession {
  projectId: string;
  session: string;
  from: string;
}

/** Stores calls made from events of coding agents, and sets their turns (docs/adr/0139-coding-agents.md). */
@Injectable()
export class AgentTurns {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
    private readonly sources: CallSources,
  ) {}

  /** Stores calls of one session and sets their turns, in one transaction. */
  store(
    { projectId, session, from }: AgentSession,
    calls: readonly WholeCall[],
    caller: Caller,
  ): Promise<ItemAnswer[]> {
    return this.database.transaction(
      { lock: sessionLock(projectId, session), long: 'read' },
      async () => {
        const answers = await this.calls.storeCalls(calls, caller);
        await this.settle(projectId, session, from);
        return answers;
      },
    );
  }

  /** Sets the turns again for sessions in these traces. Needed when spans of the traces arrive. */
  async settleTraces(projectId: string, traceIds: readonly string[]): Promise<void> {
    for (const { session, from } of await this.database.query(sessionsOf(projectId, traceIds)))
      await this.database.transaction({ lock: sessionLock(projectId, session), long: 'read' }, () =>
        this.settle(projectId, session, from),
      );
  }

  private async settle(projectId: string, session: string, from: string): Promise<void> {
    const calls = await this.database.query(sessionCalls(projectId, session, from));
    const traceIds = [...new Set(calls.map(({ trace_id }) => trace_id))];
    const linked = calls.flatMap(({ linked_call_id }) => linked_call_id ?? []);
    const spans = await this.database.query(agentSpans(projectId, traceIds, linked));
    const changed = settledCalls(calls, spans);
    if (changed.length > 0) {
      await this.database.query(settleQuery(projectId, changed));
      this.database.changes.note(projectId, CALLS);
      await this.sources.settle(
        projectId,
        changed.map(({ id }) => id),
      );
    }
    if (spans.length > 0) await this.calls.settleTurns(projectId, traceIds);
  }
}
