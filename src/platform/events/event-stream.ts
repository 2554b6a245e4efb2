import type { ServerResponse } from 'node:http';
import type { Caller } from '../auth/caller.js';
import { ApiError } from '../errors.js';
import { type ChangeKind, TICK_MS } from '../database/changes.js';

export const EVENT_STREAM = 'text/event-stream';

/** Time after which clients reconnect when a stream has ended. */
const RETRY_MS = 2000;
/** Time until the key is checked again, when the database could not be reached. */
const ASK_AGAIN_MS = 1000;

const HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store, no-transform',
  connection: 'close', // the connection is not reused after the stream
  'x-accel-buffering': 'no', // stops nginx from buffering the events
};

/**
 * A client that watches a project. Waiting changes are a set of kinds. While the socket is full, or less than `TICK_MS`
 * after a tick, further changes join the set, so a slow client costs no memory.
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
      this.end(); // the headers are sent with the body, or at the end
    else void this.write(`retry: ${RETRY_MS}\n\n`);
  }

  tick(kinds: Iterable<ChangeKind>): void {
    for (const kind of kinds) this.untold.add(kind);
    if (!this.isTelling) void this.tell();
  }

  /**
   * Shows client and proxies that the stream is alive. A client that has not received the last bytes is disconnected.
   */
  beat(): void {
    if (this.isWriting) this.response.destroy();
    else void this.write(':\n\n');
  }

  /** Ends the stream when its key was revoked or has expired. Returns false when that cannot be checked now. */
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

  /** Resolves when the socket has accepted the text, or is closed. */
  private async write(text: string): Promise<void> {
    if (this.isOver) return;
    this.isWriting = true;
    await new Promise<unknown>((resolve) => this.response.write(text, resolve));
    this.isWriting = false;
  }
}
