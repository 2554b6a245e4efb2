import type { FileRecord } from './records.js';
import { RefusedRequest } from './target-service.js';

export class InvalidRecord extends Error {}

/** Sends the records of one format in batches. */
export interface Importer {
  /** @throws InvalidRecord */
  add(record: FileRecord): Promise<void>;
  flush(): Promise<void>;
}

/** An item to send, as JSON text, with its line in the file. */
export interface ImportItem {
  line: number;
  /** Name of the item in messages, such as `span 1f`. */
  what: string;
  text: string;
}

/** The reason for a refusal, and how many of the counted items it concerns. */
export interface ImportRefusal {
  why: string;
  count?: number;
}

export class ImportTally {
  private readonly counts = new Map<string, number>();
  refused = 0;

  constructor(private readonly say: (line: string) => void) {}

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  refuse({ line, what }: ImportItem, { why, count = 1 }: ImportRefusal): void {
    this.refused += count;
    this.say(`line ${line}: ${what} is refused: ${why}`);
  }

  summary(): string {
    const sent = [...this.counts].map(([what, count]) => `${count} ${what}`);
    if (this.refused > 0) sent.push(`${this.refused} of them refused`);
    return sent.join(', ') || 'nothing';
  }
}

const BATCH_ITEMS = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/**
 * Sends a batch, and returns the refusal if the service refuses it.
 * @throws RefusedRequest
 */
type Send = (items: readonly ImportItem[]) => Promise<ImportRefusal | undefined>;

/** Sends items in batches. A refused item is found by sending halves of its batch; every item may be sent again. */
export class ImportBatch {
  private items: ImportItem[] = [];
  private characters = 0;

  constructor(
    private readonly send: Send,
    private readonly tally: ImportTally,
  ) {}

  async add(item: ImportItem): Promise<void> {
    if (this.characters + item.text.length > BATCH_CHARACTERS) await this.flush();
    this.items.push(item);
    this.characters += item.text.length;
    if (this.items.length >= BATCH_ITEMS) await this.flush();
  }

  async flush(): Promise<void> {
    const { items } = this;
    [this.items, this.characters] = [[], 0];
    if (items.length > 0) await this.sendAll(items);
  }

  private async sendAll(items: readonly ImportItem[]): Promise<void> {
    const refusal = await this.tryToSend(items);
    if (!refusal) return;
    if (items.length === 1) {
      this.tally.refuse(items[0]!, refusal);
      return;
    }
    const half = items.length >> 1;
    await this.sendAll(items.slice(0, half));
    await this.sendAll(items.slice(half));
  }

  private async tryToSend(items: readonly ImportItem[]): Promise<ImportRefusal | undefined> {
    try {
      return await this.send(items);
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      if ([400, 413].includes(error.status)) return { why: error.message };
      throw new Error(error.message, { cause: error }); // concerns the whole import: key, project or address
    }
  }
}
