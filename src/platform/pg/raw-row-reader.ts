import type { Socket } from 'node:net';
import type { ClientBase, PoolClient } from 'pg';
import { RowTooLarge } from '../refusals.js';

/** Returns the socket of a connection, and the listener through which pg's parser reads it. */
export function socketOf(client: ClientBase) {
  // pg's types do not declare these fields. Both have existed since pg 1.
  const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection;
  const [parse, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (!parse || others.length > 0) throw new Error('the connection is read by somebody else');
  return { socket, parse };
}

/** Type byte of a `DataRow` message. A message is a type byte, an int32 length that includes itself, and the body. */
const DATA_ROW = 'D'.charCodeAt(0);
const HEADER = 5;

interface Listeners {
  maxRowBytes: number;
  /**
   * Receives a `DataRow` without its header: `start` is at the number of values. It must not throw or keep the buffer.
   */
  onRow: (bytes: Buffer, start: number, end: number) => void;
  /** Called for a row that exceeds the limit. Nothing more is read afterwards; the connection must be closed. */
  onTooLarge: (error: RowTooLarge) => void;
}

/**
 * Takes rows off a connection as raw bytes, before pg makes a string of each value. A row that is forwarded to a client
 * unchanged then needs no decoding and encoding (bench/performance.mjs measures the rate). All other messages go to
 * pg's parser unchanged. https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export class RawRowReader {
  private readonly socket: Socket;
  private readonly parse: (bytes: Buffer) => void;
  /** Chunks of a message that has not arrived completely. */
  private parts: Buffer[] = [];
  private missing = 0;
  private isRefused = false;

  constructor(
    client: PoolClient,
    private readonly listeners: Listeners,
  ) {
    ({ socket: this.socket, parse: this.parse } = socketOf(client));
    this.socket.on('data', this.read).off('data', this.parse);
  }

  /** Gives the connection, and the start of any incomplete message, back to pg. Call it between queries. */
  close(): void {
    this.socket.on('data', this.parse).off('data', this.read);
    for (const part of this.parts.splice(0)) this.parse(part);
  }

  private readonly read = (chunk: Buffer): void => {
    if (this.isRefused) return;
    let at = 0;
    while (this.parts.length > 0) {
      // Copies only the incomplete message, and not the messages after it.
      const part = chunk.subarray(at, at + this.missing);
      this.parts.push(part);
      this.missing -= part.length;
      at += part.length;
      if (this.missing > 0) return;
      const bytes = Buffer.concat(this.parts);
      this.parts = [];
      this.take(bytes, 0);
      if (this.isRefused) return;
    }
    this.take(chunk, at);
  };

  /** Passes on the complete messages from `from` on, and keeps the start of an incomplete one. */
  private take(bytes: Buffer, from: number): void {
    let at = from;
    while (at < bytes.length) {
      const left = bytes.length - at;
      const length = left < HEADER ? HEADER : 1 + bytes.readInt32BE(at + 1);
      if (length > this.listeners.maxRowBytes) {
        this.isRefused = true;
        const message = `the answer has a row of ${length} bytes, over the limit of ${this.listeners.maxRowBytes}`;
        this.listeners.onTooLarge(new RowTooLarge(message));
        return;
      }
      if (left < length) {
        this.parts = [bytes.subarray(at)];
        this.missing = length - left;
        return;
      }
      const end = at + length;
      if (bytes[at] === DATA_ROW) this.listeners.onRow(bytes, at + HEADER, end);
      else this.parse(bytes.subarray(at, end));
      at = end;
    }
  }
}
