import type { FileRecord } from './records.js';
import { RefusedRequest } from './target-service.js';

/** A record that is not what the format has. */
export class InvalidRecord extends Error {}

/** What of one format is sent: records are added, and sent in batches. */
export interface Importer {
  /** @throws WrongRecord */
  add(record: FileRecord): Promise<void>;
  /** Sends what is still held. */
  flush(): Promise<void>;
}

/** Something to be sent, as JSON text, and where it stands in the file. */
export interface ImportItem {
  line: number;
  /** `span 1f`, for messages. */
  what: string;
  text: string;
}

/** Why something is refused, and how many of the things that were counted. */
export interface ImportRefusal {
  why: string;
  count?: number;
}

/** What was sent, and what was refused. */
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

/** Sends a batch, and answers what is wrong with it, if anything is. @throws RefusedRequest */
type Send = (items: readonly ImportItem[]) => Promise<ImportRefusal | undefined>;

/** Items that are sent together. A refused item is found by sending fewer: any item may be sent again. */
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
      throw new Error(error.message, { cause: error }); // of the whole import: the key, the project, the address
    }
  }
}
