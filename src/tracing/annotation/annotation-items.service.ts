import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { isId } from '../../platform/http/dto.js';
import { DerivedDataRegistry } from '../calls/erasing/derived-data.service.js';
import { AnnotationProgress } from './annotation-progress.entity.js';
import { ANNOTATION } from './annotation-queue.entity.js';
import { AnnotationQueuesService } from './annotation-queues.service.js';
import {
  MAX_PATHS,
  MAX_QUEUE_ITEMS,
  type AnnotationItemsAddDto,
  type AnnotationItemsAddedDto,
  type AnnotationItemsQueryDto,
  type AnnotationProgressDto,
  type AnnotationState,
} from './annotation.dto.js';
import {
  firstIn,
  itemQuery,
  itemsInsert,
  itemsOfCalls,
  itemsQuery,
  itemsThere,
  stateQuery,
  stateUpdate,
} from './annotation-items.query.js';
import {
  callDeletionLock,
  gapsClose,
  completedCountUpdate,
  addedCountUpdate,
  itemsForget,
  itemInsertLock,
  queuesLock,
} from './annotation-queues.query.js';

/** Ranks of states. An item shows the state with the highest rank that an annotator has reached. */
const RANKS: Record<AnnotationState, number> = {
  unstarted: 0,
  in_progress: 1,
  skipped: 2,
  completed: 3,
};
const isDone = (state: AnnotationState) => RANKS[state] >= RANKS.skipped;

interface ItemAssignment {
  projectId: string;
  queueId: string;
  itemId: string;
  userId: string;
}

@Injectable()
export class AnnotationItemsService {
  constructor(
    private readonly database: Database,
    private readonly queues: AnnotationQueuesService,
    calls: DerivedDataRegistry,
  ) {
    calls.register({
      lock: callDeletionLock,
      made: itemsOfCalls,
      forget: (projectId, ids) => this.forget(projectId, ids),
    });
  }

  /** @throws ApiError `not_found`, `too_large`, `invalid_request` */
  async add(
    queueId: string,
    body: AnnotationItemsAddDto,
    caller: Caller,
  ): Promise<AnnotationItemsAddedDto> {
    const { project_id: projectId, display_fields: displayFields } = body;
    if (displayFields.reduce((sum, { length }) => sum + length, 0) > MAX_PATHS)
      throw invalidRequest([
        {
          path: 'display_fields',
          message: `must not have more than ${MAX_PATHS} characters together`,
        },
      ]);
    const callIds = [...new Set(body.call_ids)];
    const add = async () => {
      await caller.assertValid();
      const { total_items: total } = await this.queues.lock(projectId, queueId);
      const ids = callIds.map(() => uuidv7());
      const { userName } = caller;
      const items = { projectId, queueId, total, callIds, ids, displayFields, userName };
      const [there] = await this.database.query(itemsThere(items));
      const { length: added_count } = await this.database.query(itemsInsert(items));
      if (total + added_count > MAX_QUEUE_ITEMS)
        throw new ApiError(
          'too_large',
          `a queue may have ${MAX_QUEUE_ITEMS} items; this one would have ${total + added_count}`,
        );
      await this.database.query(addedCountUpdate(projectId, queueId, added_count));
      this.database.changes.note(projectId, ANNOTATION);
      return { added_count, duplicates: there!.count };
    };
    return this.database.transaction({ lock: itemInsertLock(projectId), long: 'read' }, add);
  }

  /** @throws ApiError `not_found` */
  async stream(queueId: string, query: AnnotationItemsQueryDto): Promise<Readable> {
    await this.queues.assertThere(query.project_id, queueId);
    return this.database.stream(itemsQuery(queueId, query));
  }

  /**
   * Records the caller's progress with an item. Returns the item as JSON text.
   * @throws ApiError `not_found`, `invalid_request`
   */
  progress(
    path: { queueId: string; itemId: string },
    { project_id: projectId, annotation_state }: AnnotationProgressDto,
    { userName }: Caller,
  ): Promise<string> {
    return this.database.transaction(async () => {
      await this.queues.lock(projectId, path.queueId);
      const work = { projectId, ...path, userId: userName };
      return `{"item":${await this.step(work, annotation_state)}}`;
    });
  }

  /**
   * Returns the item that the caller has begun, as JSON text. Otherwise begins the first item that nobody has begun.
   * Concurrent callers get different items.
   * @throws ApiError `not_found`
   */
  next(queueId: string, projectId: string, { userName: userId }: Caller): Promise<string> {
    return this.database.transaction(async () => {
      await this.queues.lock(projectId, queueId);
      const mine = firstIn(projectId, queueId, { state: 'in_progress', userId });
      const free = firstIn(projectId, queueId, { state: 'unstarted' });
      const [found] = await this.database.query(mine);
      const [item = found] = found ? [] : await this.database.query(free);
      if (!item) return '{"item":null}';
      const work = { projectId, queueId, itemId: item.id, userId };
      return `{"item":${await this.step(work, 'in_progress')}}`;
    });
  }

  /** Brings an item of a locked queue to a state for one annotator. Returns the item as JSON text. */
  private async step(work: ItemAssignment, state: AnnotationState): Promise<string> {
    const { projectId, queueId, itemId, userId } = work;
    const [now] = isId(itemId) ? await this.database.query(stateQuery(projectId, work)) : [];
    if (!now) throw new ApiError('not_found', `there is no item ${itemId.slice(0, 256)}`);
    if (now.mine !== state) {
      assertMayGo(now.mine, state);
      await this.database
        .repository(AnnotationProgress)
        .upsert({ projectId, itemId, userId, state, updatedAt: () => 'now()' }, [
          'projectId',
          'itemId',
          'userId',
        ]);
      if (RANKS[state] > RANKS[now.state])
        await this.database.query(stateUpdate(projectId, itemId, { state, userId }));
      if (isDone(state) && !isDone(now.state))
        await this.database.query(completedCountUpdate(projectId, queueId));
      this.database.changes.note(projectId, ANNOTATION);
    }
    const [item] = await this.database.query(itemQuery(projectId, itemId));
    return item!.json;
  }

  private async forget(projectId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const queues = await this.database.query(queuesLock(projectId, ids));
    await this.database.query(itemsForget(projectId, ids));
    await this.database.query(
      gapsClose(
        projectId,
        queues.map(({ id }) => id),
      ),
    );
    this.database.changes.note(projectId, ANNOTATION);
  }
}

/** @throws ApiError `invalid_request` */
function assertMayGo(from: AnnotationState | null, to: AnnotationState): void {
  if (from === null || (from === 'in_progress' && isDone(to))) return;
  const message = `must not be ${to}: you have ${from === 'in_progress' ? 'begun' : from} the item`;
  throw invalidRequest([{ path: 'annotation_state', message }]);
}
