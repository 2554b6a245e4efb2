import type { ServerResponse } from 'node:http';
import { Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { perKeyRule, Shares } from '../process/fair-queue.js';
import { drainSignal } from '../http/edge.js';
import { registerCounter, registerGauge } from '../process/metrics.js';
import { Busy } from '../refusals.js';
import { CHANGES, changesIn, KINDS } from '../database/changes.js';
import { Database } from '../database/database.js';
import { Notices } from '../database/notices.js';
import { Schedule } from '../database/schedule.js';
import { EventStream } from './event-stream.js';

/**
 * Most streams of a process, and of one key. Each is a socket, and each tick is written to every one. The keys of an
 * entity together may have as many as stay free, so that some are left for others (docs/adr/0019-shares.md).
 */
export const MAX_STREAMS = 1000;
export const MAX_STREAMS_OF_KEY = 100;
/**
 * Interval in which keys are checked. With the 2 s for which a key is cached, a revoked key loses its streams within 5
 * s.
 */
const CHECK_MS = 3000;
/** Interval between two signs of life. */
export const BEAT_MS = 5 * CHECK_MS;
/** Interval between two ticks of all kinds. */
const ALL_KINDS_MS = 60_000;

/**
 * Notifies clients of changes in the projects that they watch. Nothing is kept for an absent client: the first tick of
 * each stream names all kinds. So does a tick after an interrupted database connection, and one each minute, since a
 * killed process loses its pending changes (docs/adr/0032-events.md).
 */
@Injectable()
export class EventsService implements OnModuleDestroy, OnApplicationShutdown {
  /** Open streams, keyed by project id. */
  private readonly streams = new Map<string, Set<EventStream>>();
  private readonly shares = new Shares(
    perKeyRule(MAX_STREAMS_OF_KEY, (own, all) => own.count < MAX_STREAMS - all.count),
  );
  private listening: Promise<unknown> | undefined;
  private checkedMs = 0;
  private readonly ticks = registerCounter(
    'skein_event_ticks_total',
    'Ticks sent to clients that watch a project, by what has changed.',
    ['kind'],
  );

  constructor(
    private readonly database: Database,
    private readonly notices: Notices,
    schedule: Schedule,
  ) {
    registerGauge(
      'skein_event_streams',
      'Clients that watch a project.',
      () => this.shares.all.count,
    );
    schedule.every(CHECK_MS, 'streams of events', async () => this.check());
    drainSignal.addEventListener('abort', this.endAll);
  }

  /**
   * Sends changes to the client until it leaves, its key ends, or the process is about to end.
   * @throws ApiError, Busy
   */
  async watch(projectId: string, caller: Caller, response: ServerResponse): Promise<void> {
    await (this.listening ??= this.notices.listen(CHANGES, (notice) => this.take(notice)));
    this.assertRoom(caller); // after the wait, because a stream that has not begun must get no tick
    if (response.destroyed) return; // the client has already left
    const stream = new EventStream(response, caller, (kinds) => {
      for (const kind of kinds) this.ticks.inc({ kind });
    });
    this.add(projectId, stream);
    response.once('close', () => this.remove(projectId, stream));
    stream.begin();
    stream.tick(KINDS);
    if (drainSignal.aborted || this.notices.isStopping) stream.end();
  }

  onModuleDestroy(): void {
    drainSignal.removeEventListener('abort', this.endAll);
    this.endAll();
  }

  onApplicationShutdown(): Promise<void> {
    return this.database.changes.flush();
  }

  private assertRoom({ owner }: Caller): void {
    if (this.shares.all.count >= MAX_STREAMS)
      throw new Busy(`the process has ${MAX_STREAMS} streams of events, which is its limit`);
    if (this.shares.of(owner).count >= MAX_STREAMS_OF_KEY)
      throw new Busy(`the key has ${MAX_STREAMS_OF_KEY} streams of events, which is its limit`);
    if (!this.shares.hasRoom(owner))
      throw new Busy('the entity has as many streams of events as are left for others');
  }

  private add(projectId: string, stream: EventStream): void {
    const streams = this.streams.get(projectId);
    if (streams) streams.add(stream);
    else this.streams.set(projectId, new Set([stream]));
    this.shares.add(stream.caller.owner);
  }

  private remove(projectId: string, stream: EventStream): void {
    const streams = this.streams.get(projectId)!;
    streams.delete(stream);
    if (streams.size === 0) this.streams.delete(projectId);
    this.shares.give(stream.caller.owner);
  }

  private take(notice: string | null): void {
    const changes = notice === null ? null : changesIn(notice);
    if (!changes) return this.tickAll();
    for (const [projectId, kinds] of changes)
      for (const stream of this.streams.get(projectId) ?? []) stream.tick(kinds);
  }

  private check(): void {
    this.checkedMs += CHECK_MS;
    for (const stream of this.all()) {
      void stream.checkKey();
      if (this.checkedMs % BEAT_MS === 0) stream.beat();
    }
    if (this.checkedMs % ALL_KINDS_MS === 0) this.tickAll();
  }

  private tickAll(): void {
    for (const stream of this.all()) stream.tick(KINDS);
  }

  private readonly endAll = (): void => {
    for (const stream of this.all()) stream.end();
  };

  private all(): EventStream[] {
    return [...this.streams.values()].flatMap((streams) => [...streams]);
  }
}
