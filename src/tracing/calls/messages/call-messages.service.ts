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
  /** True if the value is one element of a list. */
  is_part: boolean;
  /** Sort key of elements: nanoseconds since 1970 in 20 digits, then the place in the request. */
  at: string;
  place: number;
  /** JSON text. */
  value: string;
}

interface MessagesWrite extends CallMessages {
  isRefused?: boolean;
  isAwaited?: boolean;
}

/** Average amount that is stored for waiting calls between two counts of them. */
const TRIM_AFTER = { calls: 500, bytes: 8 * 1024 * 1024 };

/** Stores messages of log records, before or after their calls are stored, and adds them to the calls. */
@Injectable()
export class CallMessagesService implements OnApplicationShutdown {
  /** Runs fewer writes at once than `CallsWriter`, so that starts and ends always get connections. */
  private readonly group = new GroupCommit<MessagesWrite>(
    (writes, key) =>
      this.database.scope.run(
        { owner: () => key, subject: { tell: () => ({ work: 'messages in logs' }) } }, // many requests share it
        () => this.write(writes),
      ),
    (error) => isRowError(error) || isTimeout(error) || isOutOfMemory(error),
    { maxWrites: 2 },
  );

  constructor(private readonly database: Database) {}

  /**
   * Stores messages of different calls. Returns the errors of refused ones.
   * @throws errors that affect all messages
   */
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

  /** Stores messages. One statement may touch a row only once, so a repeated call goes into the next statement. */
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
      this.database.changes.note(project_id, CALLS);
    }
    const [some] = left.values();
    if (!some) return;
    const refused = await this.database.query(refusedQuery(some.projectId, [...left.values()]));
    for (const { project_id, id } of refused) left.get(callKey(project_id, id))!.isRefused = true;
  }

  /**
   * Deletes log records over the limits. Counting takes longer the more records wait. So it is done by chance, in
   * proportion to the stored amount, and no process has to remember anything.
   */
  private async trim(awaited: readonly MessagesWrite[]): Promise<void> {
    const shares = new Map<string, number>();
    for (const { projectId, said } of awaited) {
      const share = 1 / TRIM_AFTER.calls + said.length / TRIM_AFTER.bytes;
      shares.set(projectId, (shares.get(projectId) ?? 0) + share);
    }
    for (const [projectId, share] of shares)
      if (Math.random() < share)
        await this.database.query(awaitedTrim(projectId), { long: 'bulk' });
  }
}

/**
 * Returns true if the messages of one request for one call are within the limits. The database checks the limits again,
 * together with stored messages.
 */
export const isWithinLimits = (said: readonly CallMessage[]): boolean =>
  said.length <= MAX_MESSAGES &&
  said.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0) <= MAX_BYTES;

export const tooManyMessages = () =>
  new ApiError(
    'too_large',
    `log records may hold ${MAX_MESSAGES} messages and ${MAX_BYTES} bytes of them for one span`,
  );
