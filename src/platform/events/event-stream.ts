import type { ServerResponse } from 'node:http';
import type { Caller } from '../auth/caller.js';
import { ApiError } from '../errors.js';
import { type ChangeKind, TICK_MS } from '../database/changes.js';

export const EVENT_STREAM = 'text/event-stream';

/** After this time clients try again when a stream has ended. */
const RETRY_MS = 2000;
/** A database that cannot say whether the key is active is asked again after this time. */
const ASK_AGAIN_MS = 1000;

const HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store, no-transform',
  connection: 'close', // which is not used again when the stream has ended
  'x-accel-buffering': 'no', // nginx would keep the events to itself
};

/**
 * One client that watches a project. Changes that wait to be sent are a set of kinds: while its socket is full, or a
 * tick was sent less than `TICK_MS` ago, further changes are added to the set, so a slow client costs no memory.
 */
export class EventStream {
  private readonly untold = new Set<ChangeKind>();
  private isTelling = false;
  private isWriting = false;

  constructor(
    private readonly response: ServerResponse,
    readonly caller: Pick<Caller, 'owner' | 'assertValid'>,
    private readonly onTick: (kinds: readonly ChangeKind[]) => void = () => {},
  ) {}

  begin(): void {
    this.response.writeHead(200, HEADERS);
    if (this.response.req.method === 'HEAD')
      this.end(); // a head is sent with the body, or with the end
    else void this.write(`retry: ${RETRY_MS}\n\n`);
  }

  tick(kinds: Iterable<ChangeKind>): void {
    for (const kind of kinds) this.untold.add(kind);
    if (!this.isTelling) void this.tell();
  }

  /** Shows the client, and what is between, that the stream lives. One that has not taken the last bytes is cut. */
  beat(): void {
    if (this.isWriting) this.response.destroy();
    else void this.write(':\n\n');
  }

  /** Ends the stream when its key was revoked or has expired. False when that cannot be checked now. */
  async checkKey(): Promise<boolean> {
    try {
      await this.caller.assertValid();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'unauthenticated')) return false;
      this.end();
    }
    return true;
  }

  end(): void {
    this.response.end();
  }

  private async tell(): Promise<void> {
    this.isTelling = true;
    while (this.untold.size > 0 && !this.isOver) {
      const isKnown = await this.checkKey();
      if (isKnown && !this.isOver) {
        const kinds = [...this.untold];
        this.untold.clear();
        await this.write(`event: tick\ndata: ${JSON.stringify({ kinds })}\n\n`);
        this.onTick(kinds);
      }
      const ms = isKnown ? TICK_MS : ASK_AGAIN_MS;
      await new Promise((resolve) => setTimeout(resolve, ms).unref());
    }
    this.isTelling = false;
  }

  private get isOver(): boolean {
    return this.response.writableEnded || this.response.destroyed;
  }

  /** Resolves when the socket has taken it, or is closed. */
  private async write(text: string): Promise<void> {
    if (this.isOver) return;
    this.isWriting = true;
    await new Promise<unknown>((resolve) => this.response.write(text, resolve));
    this.isWriting = false;
  }
}
