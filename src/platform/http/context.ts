import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { RequestTrace } from '../process/request-trace.js';
import type { BodyBudget, BodyReservation } from './body-budget.js';
import { busy } from './body-budget.js';

declare module 'http' {
  interface IncomingMessage {
    /** `edge` puts it on each request. */
    context: Context;
  }
}

/** What the app allows bodies. */
interface BodyLimits {
  budget: BodyBudget;
  /** Limit of an inflated body that is held in memory. */
  maxBytes: number;
  /** A body may be silent for so long, and be so much later than its rate asks for. */
  timeoutMs: number;
}

/** A shorter answer is not counted: as many as there may be connections need little. */
const COUNTED_BYTES = 16 * 1024;
/** A client that reads nothing of an answer for this long is disconnected, as with streams. */
const UNREAD_MS = 60_000;
const LOOK_AGAIN_MS = 250;
const MAX_LOOKS = 240;

/** What a handler gets of its request, beside what its DTOs describe. Services take this, and never Express's objects. */
export class Context {
  /** The inflated body as it was sent, where `BodyGuard` has read it. */
  bodyText: string | undefined;
  /** Of a request that the service traces. */
  trace: RequestTrace | undefined;
  /** Projects that the body and the query name in fields marked `@IsProjectId()`. */
  projects: readonly string[] = [];
  /** The one that something else of the request names. */
  private namedProject: string | undefined;
  private ownHold: BodyReservation | undefined;
  /** What the hold has for an answer that is not made yet. */
  private reserved = 0;
  private closed: AbortController | undefined;

  constructor(
    private readonly express: Request,
    readonly response: ServerResponse,
    readonly bodies: BodyLimits,
  ) {}

  /** The message itself, for those who read its body as it comes. */
  get request(): IncomingMessage {
    return this.express;
  }

  get headers(): IncomingHttpHeaders {
    return this.express.headers;
  }

  /** Scheme and host that the client asked, as trusted proxies tell them. */
  get origin(): string {
    return `${this.express.protocol}://${this.express.headers.host ?? 'localhost'}`;
  }

  /** Of the client, as far as proxies are trusted. */
  get ip(): string | undefined {
    return this.express.ip;
  }

  get path(): string {
    return this.express.path;
  }

  get url(): string {
    return this.express.originalUrl;
  }

  /** The caller of a guarded route. Unguarded routes have none and must not ask. */
  get caller(): Express.User {
    if (!this.express.user) throw new Error('the route has no guard, so nobody is known');
    return this.express.user;
  }

  /** The project that the request is about, for the log; the first of several. */
  get project(): string | undefined {
    return this.namedProject ?? this.projects[0];
  }

  /** @throws ApiError `forbidden` when the caller may not reach the project that the request is about. */
  assertReaches(projectId: string): void {
    this.namedProject = projectId;
    this.caller.assertReaches(projectId);
  }

  /** The body as it was sent, for what must come back byte for byte. Only handlers with a `@Body()` have one. */
  get text(): string {
    if (this.bodyText === undefined)
      throw new Error('the handler takes no @Body(), so no body was read');
    return this.bodyText;
  }

  /** Aborted when the client has gone, or has its answer. */
  get signal(): AbortSignal {
    if (!this.closed) {
      const closed = (this.closed = new AbortController());
      if (this.response.destroyed) closed.abort(OVER);
      else this.response.once('close', () => closed.abort(OVER));
    }
    return this.closed.signal;
  }

  /** What the body holds of the memory for bodies. It is given back with the answer. */
  get hold(): BodyReservation {
    return (this.ownHold ??= this.bodies.budget.hold(this.owner));
  }

  /** Whose share of the process the request uses. Those without a key are one entity, by their addresses. */
  private get owner(): string {
    const { user, socket } = this.express;
    return user?.owner ?? `*nobody/${socket.remoteAddress ?? ''}`;
  }

  /**
   * Waits for memory for so much of an answer, before it is made: what there is no room for costs the others nothing.
   * @throws ApiError `unavailable` when there is none in time
   */
  async reserveAnswer(bytes: number): Promise<void> {
    if (bytes <= COUNTED_BYTES) return;
    const weight = this.answerWeight(bytes);
    await this.hold.add(weight);
    this.reserved += weight;
  }

  /** One larger than the budget must pass too. */
  private answerWeight(bytes: number): number {
    return Math.min(bytes, this.bodies.budget.largeBytes / 4);
  }

  /**
   * Counts an answer that waits in memory until its client has read it: otherwise many connections could each leave an
   * answer unread. The answer exists already, so it does not wait for room. `app.ts` calls it for each answer that is no stream.
   * @throws ApiError `unavailable` when there is none
   */
  holdAnswer(answer: string | Buffer): void {
    if (answer.length <= COUNTED_BYTES) return;
    const { hold, response } = this;
    const bytes = this.answerWeight(Buffer.byteLength(answer));
    if (!hold.moved(hold.bytes - this.reserved + bytes)) throw busy();
    this.reserved = 0;
    response.setTimeout(UNREAD_MS, () => response.destroy());
  }

  /**
   * Gives back what the request held when its connection or answer has closed. If the client left before the answer, the
   * handler may still have the body, or be about to ask for its memory: the hold then ends when the handler has answered.
   */
  endHold(): void {
    const { response } = this;
    this.ownHold?.leave();
    let looks = 0;
    const look = () => {
      if (response.headersSent || response.writableEnded || ++looks > MAX_LOOKS)
        this.hold.release(); // one that is asked for later finds it over
      else setTimeout(look, LOOK_AGAIN_MS).unref();
    };
    look();
  }
}

export const Ctx = createParamDecorator(
  (_: unknown, context: ExecutionContext): Context =>
    context.switchToHttp().getRequest<IncomingMessage>().context,
);

/** One for all, since to make one takes as long as to route a request. */
const OVER = new DOMException('the client has gone, or has its answer', 'AbortError');
