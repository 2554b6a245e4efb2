import { IncomingMessage, type IncomingHttpHeaders, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Stands for the connection of a request that came in another way: what is written to it was taken from the response before. */
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

  // Whoever made the request bounds its time.
  setTimeout(): this {
    return this;
  }

  destroySoon(): void {
    this.destroy();
  }
}

/** Of a request that is not answered yet. */
interface PendingRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** Asks for more of the body. */
  read: () => void;
}

/** What was answered; the body is short. */
export interface InnerAnswer {
  status: number;
  header(name: string): string | undefined;
  body: Buffer;
}

/**
 * A POST that did not come as HTTP/1, but is answered by the server of the process as if it had: by the same middleware, guards, budgets and
 * handlers. It counts as a connection from the start. `onEnd` is called once: with the answer, or with null when the server has cut the connection.
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

  /** Hands the head to the server. */
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

  /** Whether there is room for more of the body. */
  push(chunk: Buffer): boolean {
    (this.socket as unknown as InnerSocket).bytesRead += chunk.length;
    return this.request!.push(chunk);
  }

  /** The body is complete. */
  pushEnd(): void {
    this.request!.complete = true;
    this.request!.push(null);
  }

  /** The client has gone, or is not waited for. */
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

/** Notes what is written to the response. Its prototype is exchanged by Express, so these are members of its own. */
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
