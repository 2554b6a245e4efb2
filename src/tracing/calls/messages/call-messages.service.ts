import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import {
  ApiError,
  isOutOfMemory,
  isRowError,
  isTimeout,
  toApiError,
} from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import { GroupCommit } from '../../../platform/database/group-commit.js';
import { STATEMENT_MS } from '../../../platform/database/limits.js';
import { callKey } from '../ingest/calls.writer.js';
import {
  awaitedTrim,
  type CallMessages,
  MAX_BYTES,
  MAX_MESSAGES,
  messagesUpsert,
  refusedQuery,
} from './call-messages.query.js';
import { CALLS } from '../call.entity.js';

export type { CallMessages };

/** One message of a call, or a whole member of its inputs or output. */
export interface CallMessage {
  trace_id: string;
  side: 'inputs' | 'output';
  member: string;
  /** One element of the list that the member is. */
  is_part: boolean;
  /** The sort key of parts: nanoseconds since 1970 in 20 digits, then the place in the request. */
  at: string;
  place: number;
  /** JSON. */
  value: string;
}

interface MessagesWrite extends CallMessages {
  isRefused?: boolean;
  isAwaited?: boolean;
}

/** Of calls that wait for their spans, so much is stored between two looks at how many there are. */
const TRIM_AFTER = { calls: 500, bytes: 8 * 1024 * 1024 };

/** Keeps the messages of log records, before or after their calls are stored, and shows them in the calls. */
@Injectable()
export class CallMessagesService implements OnApplicationShutdown {
  /** Fewer at once than starts and ends, which so always have connections. */
  private readonly group = new GroupCommit<MessagesWrite>(
    (writes, key) =>
      this.database.runFor(
        () => key,
        () => this.write(writes),
        { tell: () => ({ work: 'messages in logs' }) }, // of many requests
      ),
    (error) => isRowError(error) || isTimeout(error) || isOutOfMemory(error),
    { maxWrites: 2 },
  );

  constructor(private readonly database: Database) {}

  /** Stores what is good of it, of calls that differ; answers what refused the rest. @throws what would fail all of it. */
  async store(
    messages: readonly CallMessages[],
    caller: Caller,
  ): Promise<Map<CallMessages, Error>> {
    const writes = messages.map((one): MessagesWrite => ({ ...one }));
    const errors = await this.group.addAll(writes, ({ projectId, said }) => ({
      owner: { key: caller.owner, project: projectId },
      bytes: said.length,
    }));
    const refused = new Map<CallMessages, Error>();
    for (const [i, write] of writes.entries()) {
      const error = errors.get(write);
      if (error && !isRowError(error)) throw error;
      if (error) refused.set(messages[i]!, toApiError(error));
      else if (write.isRefused) refused.set(messages[i]!, tooManyMessages());
    }
    await this.trim(writes.filter(({ isAwaited }) => isAwaited));
    return refused;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.group.idle();
  }

  /** One statement may touch a row once, so a repeated call goes into the next one. */
  private async write(writes: MessagesWrite[]): Promise<void> {
    for (let rest = writes; rest.length > 0;) {
      const byCall = new Map<string, MessagesWrite>();
      const later: MessagesWrite[] = [];
      for (const write of rest) {
        const key = callKey(write.projectId, write.id);
        if (byCall.has(key)) later.push(write);
        else byCall.set(key, write);
      }
      await this.writeOnce(byCall);
      rest = later;
    }
  }

  private async writeOnce(byCall: Map<string, MessagesWrite>): Promise<void> {
    const stored = await this.database.query(messagesUpsert([...byCall.values()]));
    const left = new Map(byCall);
    for (const { project_id, id, is_awaited } of stored) {
      const key = callKey(project_id, id);
      left.get(key)!.isAwaited = is_awaited;
      left.delete(key);
      this.database.note(project_id, CALLS);
    }
    const [some] = left.values();
    if (!some) return;
    const refused = await this.database.query(refusedQuery(some.projectId, [...left.values()]));
    for (const { project_id, id } of refused) left.get(callKey(project_id, id))!.isRefused = true;
  }

  /**
   * Counting takes longer the more there are, so it is done as often as much was stored: by chance, for which no process
   * has to remember anything.
   */
  private async trim(awaited: readonly MessagesWrite[]): Promise<void> {
    const shares = new Map<string, number>();
    for (const { projectId, said } of awaited) {
      const share = 1 / TRIM_AFTER.calls + said.length / TRIM_AFTER.bytes;
      shares.set(projectId, (shares.get(projectId) ?? 0) + share);
    }
    for (const [projectId, share] of shares)
      if (Math.random() < share)
        await this.database.long(
          () => this.database.query(awaitedTrim(projectId)),
          STATEMENT_MS.bulk,
        );
  }
}

/** Whether what one request says of a call is within the limits; with what is stored, the database judges. */
export const isWithinLimits = (said: readonly CallMessage[]): boolean =>
  said.length <= MAX_MESSAGES &&
  said.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0) <= MAX_BYTES;

export const tooManyMessages = () =>
  new ApiError(
    'too_large',
    `log records may hold ${MAX_MESSAGES} messages and ${MAX_BYTES} bytes of them for one span`,
  );
