/** An answer that several share serves for so many times as long as it took to find, and no longer than a second. */
const FRESH_TIMES = 4;
const FRESH_MS = 1000;

/**
 * What anybody may ask without a key. One search for the answer runs at a time, and all who ask meanwhile share it; if
 * there are any, so do those who ask soon after. So many who ask take at most a fifth of a core and of a connection, and one who
 * asks alone hears what is true now.
 */
export class SharedAnswer<T> {
  private answer: Promise<T> | null = null;
  private sharers = 0;

  constructor(private readonly find: () => Promise<T>) {}

  get(): Promise<T> {
    this.sharers++;
    return (this.answer ??= this.run());
  }

  private forget(): void {
    this.answer = null;
    this.sharers = 0;
  }

  private async run(): Promise<T> {
    const started = performance.now();
    try {
      return await this.find();
    } finally {
      const freshMs = Math.min(FRESH_TIMES * (performance.now() - started), FRESH_MS);
      if (this.sharers > 1) setTimeout(() => this.forget(), freshMs).unref();
      else this.forget();
    }
  }
}
