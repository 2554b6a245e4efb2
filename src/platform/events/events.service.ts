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
 * Streams of a process, and those of them that one key may have: each is a socket, and a tick is written to each. The keys of
 * an entity together may have as many as stay free, so that some are left for others (docs/adr/0019-shares.md).
 */
export const MAX_STREAMS = 1000;
export const MAX_STREAMS_OF_KEY = 100;
/** How often keys are looked at: with the 2 s that a key is believed, a revoked one is out within 5 s. */
const CHECK_MS = 3000;
/** Between two signs of life. */
export const BEAT_MS = 5 * CHECK_MS;
/** Between two ticks of all kinds. */
const ALL_KINDS_MS = 60_000;

/**
 * Tells clients what has changed in the projects that they watch. Nothing is kept for a client that is away: the first
 * tick of each stream names all kinds, and so does one when the connection to the database was interrupted, and one each
 * minute, since a process that is killed takes what it has noted with it (docs/adr/0032-events.md).
 */
@Injectable()
export class EventsService implements OnModuleDestroy, OnApplicationShutdown {
  /** By project. */
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

  /** Tells the client of changes until it leaves, its key ends, or the process is about to. @throws ApiError, Busy */
  async watch(projectId: string, caller: Caller, response: ServerResponse): Promise<void> {
    this.assertRoom(caller);
    if (response.destroyed) return; // the client has left already
    const stream = new EventStream(response, caller, (kinds) => {
      for (const kind of kinds) this.ticks.inc({ kind });
    });
    this.add(projectId, stream);
    response.once('close', () => this.remove(projectId, stream));
    await (this.listening ??= this.notices.listen(CHANGES, (notice) => this.take(notice)));
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
