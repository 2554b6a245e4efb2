/** So many statements keep their plans on each connection: some 100 KB of PostgreSQL's memory each. */
const MAX_KEPT = 16;
/** PostgreSQL may have made a plan while a table was nearly empty: it is made again after this time. */
const KEPT_MS = 10_000;

/** The names under which connections keep statements, of which the ones asked for last count. */
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

/** What a connection keeps, by name. */
const PREPARED = new WeakMap<object, Map<string, { text: string; until: number }>>();

/** Whether the connection has the statement. Afterwards it has: who uses it closes the connection after an error. */
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
