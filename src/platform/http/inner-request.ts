import { IncomingMessage, type IncomingHttpHeaders, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Stands in for the connection of an `InnerRequest`. It discards its writes, because `takeBody` has already kept the
 * answer.
 */
class InnerSocket extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;

  constructor(readonly remoteAddress: string | undefined) {
    super();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.bytesWritten += chunk.length;
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    for (const { chunk } of chunks) this.bytesWritten += chunk.length;
    done();
  }

  // The sender of the inner request limits its time.
  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.destroy();
  }
}

interface PendingRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** Requests more of the body. */
  read: () => void;
}

/** The answer of the server, with a short body. */
export interface InnerAnswer {
  status: number;
  header(name: string): string | undefined;
  body: Buffer;
}

/**
 * A POST that did not arrive as HTTP/1. The server of the process answers it with the same middleware, guards, budgets
 * and handlers. It counts as a connection from the start. `onEnd` is called once: with the answer, or with null when
 * the server has closed the connection.
 */
export class InnerRequest {
  readonly socket: Socket;
  private request: IncomingMessage | undefined;
  private isOver = false;

  constructor(
    private readonly server: Server,
    remoteAddress: string | undefined,
    private readonly onEnd: (answer: InnerAnswer | null) => void,
  ) {
    this.socket = new InnerSocket(remoteAddress) as Duplex as Socket;
    this.socket.on('error', () => {}).once('close', () => this.end(null));
  }

  get hasBegun(): boolean {
    return this.request !== undefined;
  }

  begin({ path, headers, read }: PendingRequest): void {
    const request = (this.request = new IncomingMessage(this.socket));
    Object.assign(request, HTTP_1_1, { method: 'POST', url: path, headers, _read: read });
    const response = new ServerResponse(request);
    const taken: Buffer[] = [];
    takeBody(response, taken);
    response.assignSocket(this.socket);
    response.once('finish', () => {
      response.detachSocket(this.socket);
      const { statusCode: status } = response;
      const header = (name: string) => response.getHeader(name)?.toString();
      this.end({ status, header, body: Buffer.concat(taken) });
      process.nextTick(() => {
        Object.assign(response, { destroyed: true });
        response.emit('close');
        this.socket.destroy();
      });
    });
    this.server.emit('request', request, response);
  }

  /** Adds a chunk of the body. Returns false when the buffer is full. */
  push(chunk: Buffer): boolean {
    (this.socket as unknown as InnerSocket).bytesRead += chunk.length;
    return this.request!.push(chunk);
  }

  pushEnd(): void {
    this.request!.complete = true;
    this.request!.push(null);
  }

  /** Ends the request when the client has gone, or nobody waits for the answer. */
  abort(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.socket.destroy();
    this.request?.destroy();
  }

  private end(answer: InnerAnswer | null): void {
    if (this.isOver) return;
    this.isOver = true;
    if (!answer) this.request?.destroy();
    this.onEnd(answer);
  }
}

const HTTP_1_1 = { httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 };

/**
 * Copies the bytes that are written to the response. Express replaces its prototype, so the methods are set on the
 * object.
 */
function takeBody(response: ServerResponse, taken: Buffer[]): void {
  const take = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === 'string')
      taken.push(
        Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'),
      );
    else if (chunk instanceof Uint8Array) taken.push(Buffer.from(chunk));
  };
  const write = response.write.bind(response) as (...args: unknown[]) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  let isEnding = false;
  response.write = (...args: unknown[]) => {
    if (!isEnding) take(args[0], args[1]);
    return write(...args);
  };
  response.end = (...args: unknown[]) => {
    take(args[0], args[1]);
    isEnding = true;
    return end(...args);
  };
}
