import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { RequestTrace } from '../process/request-trace.js';
import type { BodyBudget, BodyReservation } from './body-budget.js';
import { busy } from './body-budget.js';

declare module 'http' {
  interface IncomingMessage {
    /** Set on each request by `edge`. */
    context: Context;
  }
}

interface BodyLimits {
  budget: BodyBudget;
  /** Limit of an inflated body that is held in memory. */
  maxBytes: number;
  /** Longest pause of a body, and the longest delay behind its required rate. */
  timeoutMs: number;
}

/** Shorter answers are not counted: even one for each possible connection needs little memory. */
const COUNTED_BYTES = 16 * 1024;
/** A client that reads nothing of an answer for this long is disconnected. */
export const UNREAD_SECONDS = 60;
const LOOK_AGAIN_MS = 250;
const MAX_LOOKS = 240;

/** Request data that handlers receive beside their DTOs. Services take this instead of Express's objects. */
export class Context {
  /** The inflated body as it was sent, once `BodyGuard` has read it. */
  bodyText: string | undefined;
  /** Set when the service traces this request. */
  trace: RequestTrace | undefined;
  /** True when the credential was looked up and is not valid. */
  isUnknown = false;
  /** Time for which the answer was held back. */
  heldBackMs = 0;
  /** Projects that the body and the query name in fields marked `@IsProjectId()`. */
  projects: readonly string[] = [];
  /** Project that another part of the request names, such as the URL. */
  private namedProject: string | undefined;
  private ownHold: BodyReservation | undefined;
  /** Part of the reservation for an answer that does not exist yet. */
  private reserved = 0;
  private closed: AbortController | undefined;

  constructor(
    private readonly express: Request,
    readonly response: ServerResponse,
    readonly bodies: BodyLimits,
  ) {}

  /** The HTTP message, for handlers that read the body as a stream. */
  get request(): IncomingMessage {
    return this.express;
  }

  get headers(): IncomingHttpHeaders {
    return this.express.headers;
  }

  /** Scheme and host of the request, as trusted proxies report them. */
  get origin(): string {
    return `${this.express.protocol}://${this.express.headers.host ?? 'localhost'}`;
  }

  /** Address of the client. Headers of trusted proxies are taken into account. */
  get ip(): string | undefined {
    return this.express.ip;
  }

  get path(): string {
    return this.express.path;
  }

  get url(): string {
    return this.express.originalUrl;
  }

  /**
   * The caller of a guarded route.
   * @throws Error on routes without a guard.
   */
  get caller(): Express.User {
    if (!this.express.user) throw new Error('the route has no guard, so nobody is known');
    return this.express.user;
  }

  /** The project of the request, for the log. With several projects, the first. */
  get project(): string | undefined {
    return this.namedProject ?? this.projects[0];
  }

  /** @throws ApiError `forbidden` when the caller may not reach the project of the request. */
  assertReaches(projectId: string): void {
    this.namedProject = projectId;
    this.caller.assertReaches(projectId);
  }

  /** The body as it was sent, for data that must be returned byte for byte. Only handlers with a `@Body()` have one. */
  get text(): string {
    if (this.bodyText === undefined)
      throw new Error('the handler takes no @Body(), so no body was read');
    return this.bodyText;
  }

  /** Aborted when the client has disconnected or received its answer. */
  get signal(): AbortSignal {
    if (!this.closed) {
      const closed = (this.closed = new AbortController());
      if (this.response.destroyed) closed.abort(OVER);
      else this.response.once('close', () => closed.abort(OVER));
    }
    return this.closed.signal;
  }

  /** The memory that the body reserves of the budget. It is released with the answer. */
  get hold(): BodyReservation {
    return (this.ownHold ??= this.bodies.budget.hold(this.owner));
  }

  /**
   * Owner of the share of the process that the request uses. Requests without a key form one entity, keyed by address.
   */
  private get owner(): string {
    const { user, socket } = this.express;
    return user?.owner ?? `*nobody/${socket.remoteAddress ?? ''}`;
  }

  /**
   * Waits for memory for an answer before it is made, so that an answer without room costs other requests nothing.
   * @throws ApiError `unavailable` when no memory is free in time
   */
  async reserveAnswer(bytes: number): Promise<void> {
    if (bytes <= COUNTED_BYTES) return;
    const weight = this.answerWeight(bytes);
    await this.hold.add(weight);
    this.reserved += weight;
  }

  /** Limits the weight of an answer, because one larger than the budget must pass too. */
  private answerWeight(bytes: number): number {
    return Math.min(bytes, this.bodies.budget.largeBytes / 4);
  }

  /**
   * Counts an answer in memory until its client has read it. Otherwise many connections could each leave an answer
   * unread. The answer exists already, so it does not wait for room. `app.ts` calls this for each answer that is not a
   * stream.
   * @throws ApiError `unavailable` when no memory is free
   */
  holdAnswer(answer: string | Buffer): void {
    if (answer.length <= COUNTED_BYTES) return;
    const { hold } = this;
    const bytes = this.answerWeight(Buffer.byteLength(answer));
    if (!hold.moved(hold.bytes - this.reserved + bytes)) throw busy();
    this.reserved = 0;
    this.disconnectUnread();
  }

  /** Sends an answer later. It needs no body, so the memory of the body is released now. */
  answerAfter(ms: number, send: () => void): void {
    if (ms <= 0) return send();
    this.heldBackMs = ms;
    this.bodyText = undefined;
    this.express.body = undefined;
    this.ownHold?.release();
    setTimeout(() => {
      if (this.response.destroyed) this.response.end();
      else send();
    }, ms);
  }

  /** Disconnects the client if it does not read the rest of its answer, which is held in memory. */
  disconnectUnread(): void {
    this.response.setTimeout(UNREAD_SECONDS * 1000, () => this.response.destroy());
  }

  /**
   * Releases the reservation when the connection or answer has closed. If the client left before the answer, the
   * handler may still hold the body, or be about to reserve memory for it. The reservation then ends when the handler
   * has answered.
   */
  endHold(): void {
    const { response } = this;
    this.ownHold?.leave();
    let looks = 0;
    const look = () => {
      if (response.headersSent || response.writableEnded || ++looks > MAX_LOOKS)
        this.hold.release(); // a reservation that is requested later is refused
      else setTimeout(look, LOOK_AGAIN_MS).unref();
    };
    look();
  }
}

export const Ctx = createParamDecorator(
  (_: unknown, context: ExecutionContext): Context =>
    context.switchToHttp().getRequest<IncomingMessage>().context,
);

/** Shared by all requests, because making one takes as long as routing a request. */
const OVER = new DOMException('the client has gone, or has its answer', 'AbortError');
