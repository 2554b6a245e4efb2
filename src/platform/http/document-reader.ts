import { ApiError } from '../errors.js';
import { JsonLimit, parsedBytes, valueBytes } from '../json/json-weight.js';
import { EventLoopTurn, mapYielding } from '../time/event-loop-turn.js';
import type { BodyReservation } from './body-budget.js';

/** Most memory of the values of one document. Parsing that much takes about 200 ms. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;

/**
 * Reads stored documents for a request. Clients choose them, and their values may take thirty times the memory of their
 * text. It therefore weighs each document before it parses it, reserves that memory in the budget of the process, and
 * gives other requests a turn between documents.
 */
export class DocumentReader {
  private readonly turn = new EventLoopTurn();
  /** Part of the reservation that each document uses in turn. */
  private lent = 0;

  /** Without a reservation it only weighs and yields, for a background task that reads one document at a time. */
  constructor(private readonly hold: BodyReservation | null) {}

  /**
   * Parses a document that nobody uses after the next call.
   * @throws ApiError `too_large`, `unavailable`
   */
  async read<T>(text: string): Promise<T> {
    await this.pass(weighed(() => parsedBytes(text, 2)));
    return JSON.parse(text) as T;
  }

  /**
   * Parses documents that are used until the request ends. It parses none before all of them have memory, because
   * garbage also delays other requests.
   * @throws ApiError `too_large`, `unavailable`
   */
  async keep<T>(texts: readonly string[]): Promise<T[]> {
    for (const text of texts) {
      await this.reserve(weighed(() => valueBytes(text)) + 2 * text.length);
      if (this.turn.isOver) await this.turn.next();
    }
    return mapYielding(texts, (text) => JSON.parse(text) as T);
  }

  /**
   * Reserves memory for something that nobody uses after the next call, such as a text that is cut into slices.
   * @throws ApiError `too_large`, `unavailable`
   */
  async pass(bytes: number): Promise<void> {
    if (bytes > this.lent) {
      await this.reserve(bytes - this.lent);
      this.lent = bytes;
    }
    if (this.turn.isOver) await this.turn.next();
  }

  /**
   * Reserves memory until the request ends.
   * @throws ApiError `too_large`, `unavailable`
   */
  async reserve(bytes: number): Promise<void> {
    await this.hold?.add(bytes);
  }
}

function weighed(weigh: () => number): number {
  try {
    const bytes = weigh();
    if (bytes <= MAX_DOCUMENT_BYTES) return bytes;
  } catch (error) {
    if (!(error instanceof JsonLimit)) throw error;
  }
  throw new ApiError(
    'too_large',
    `a stored document takes over ${MAX_DOCUMENT_BYTES} bytes of memory to parse`,
  );
}
