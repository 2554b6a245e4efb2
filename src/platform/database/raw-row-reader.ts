import type { Socket } from 'node:net';
import type { PoolClient } from 'pg';
import { RowTooLarge } from '../refusals.js';

/** pg declares neither; both are its own since version 1. */
interface ClientSocket {
  connection: { stream: Socket };
}

/** Byte of a `DataRow`; every message is its byte, then an int32 that counts itself and what follows. */
const DATA_ROW = 'D'.charCodeAt(0);
const HEADER = 5;

interface Listeners {
  maxRowBytes: number;
  /** Is given a `DataRow` from its number of values on; must not throw, nor keep the bytes. */
  onRow: (bytes: Buffer, start: number, end: number) => void;
  /** Called for a row that is over the limit. Nothing more is read; the connection must be closed. */
  onTooLarge: (error: RowTooLarge) => void;
}

/**
 * Takes rows off a connection as the bytes that came, before pg makes a string of each value: a row that goes on to a
 * client as it is need not be decoded and encoded again (bench/performance.mjs has the rate). All other messages go on
 * to pg's parser, whole. https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export class RawRowReader {
  private readonly socket: Socket;
  private readonly parse: (bytes: Buffer) => void;
  /** Of a message that is not all there. */
  private parts: Buffer[] = [];
  private missing = 0;
  private isRefused = false;

  constructor(
    client: PoolClient,
    private readonly listeners: Listeners,
  ) {
    this.socket = (client as unknown as ClientSocket).connection.stream;
    const [parse, ...others] = this.socket.listeners('data');
    if (!parse || others.length > 0) throw new Error('the connection is read by somebody else');
    this.parse = parse as (bytes: Buffer) => void;
    this.socket.on('data', this.read).off('data', this.parse);
  }

  /** Gives the connection back to pg, with what has begun to come; call it between queries. */
  close(): void {
    this.socket.on('data', this.parse).off('data', this.read);
    for (const part of this.parts.splice(0)) this.parse(part);
  }

  private readonly read = (chunk: Buffer): void => {
    if (this.isRefused) return;
    let at = 0;
    while (this.parts.length > 0) {
      // Only the message that is not all there is copied, and not what follows it.
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

  /** Gives away the messages from `at` on, and keeps what has begun. */
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
