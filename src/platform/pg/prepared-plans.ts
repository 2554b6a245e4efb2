/** Most statements whose plans a connection keeps. Each plan takes some 100 KB of PostgreSQL's memory. */
const MAX_KEPT = 16;
/** Time after which a plan is made again. PostgreSQL may have made it while a table was nearly empty. */
const KEPT_MS = 10_000;

/** Assigns names to the statements whose plans are kept: those that were used last. */
export class PreparedPlans {
  private readonly names = new Map<string, string>();

  name(text: string): string {
    const [oldest] = this.names;
    let name = this.names.get(text);
    if (name) this.names.delete(text);
    else if (this.names.size < MAX_KEPT) name = `kept.${this.names.size}`;
    else {
      name = oldest![1];
      this.names.delete(oldest![0]);
    }
    this.names.set(text, name);
    return name;
  }
}

const PREPARED = new WeakMap<object, Map<string, { text: string; until: number }>>();

/**
 * Returns whether the connection has prepared the statement, and registers it as prepared. The caller prepares it after
 * false, and must close the connection after an error.
 */
export function isPrepared(
  connection: { close(what: { type: 'S'; name: string }): void },
  name: string,
  text: string,
): boolean {
  let kept = PREPARED.get(connection);
  if (!kept) PREPARED.set(connection, (kept = new Map()));
  const known = kept.get(name);
  const now = performance.now();
  if (known?.text === text && now < known.until) return true;
  if (known) connection.close({ type: 'S', name });
  kept.set(name, { text, until: now + KEPT_MS });
  return false;
}
