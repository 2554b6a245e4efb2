/** A shared answer stays fresh for this multiple of the time that it took, and for a second at most. */
const FRESH_TIMES = 4;
const FRESH_MS = 1000;

/**
 * An answer that anybody may request without a key. Only one computation runs at a time, and all concurrent requests
 * share it. After concurrent requests, later ones share the answer too while it is fresh. Frequent requests therefore
 * take at most a fifth of a core and of a connection, and a single request gets the current state.
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
