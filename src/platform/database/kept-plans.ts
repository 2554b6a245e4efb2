import Cursor from 'pg-cursor';

/** So many statements keep their plans on each connection: some 100 KB of PostgreSQL's memory each. */
const MAX_KEPT = 16;
/** PostgreSQL may have made a plan while a table was nearly empty: it is made again after this time. */
const KEPT_MS = 10_000;

/** The names under which connections keep statements, of which the ones asked for last count. */
export class KeptPlans {
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

/** pg declares none of it; all is its own since version 1. */
interface Connection {
  parse: (query: { text: string; name?: string }, more: boolean) => void;
  bind: (config: { portal: string; values: unknown[]; statement?: string }, more: boolean) => void;
  close: (what: { type: 'S'; name: string }) => void;
}

/** What a connection keeps, by name. */
const KEPT = new WeakMap<object, Map<string, { text: string; until: number }>>();

/** A cursor over a statement that its connection parses and plans only now and then. */
export class KeptCursor extends Cursor {
  constructor(
    text: string,
    values: unknown[],
    private readonly name: string,
  ) {
    super(text, values);
  }

  /** pg-cursor names portals, and no statements. */
  override submit = (connection: Parameters<Cursor['submit']>[0]): void => {
    const { name } = this;
    const named = connection as unknown as Connection;
    const { parse, bind } = named;
    named.parse = ({ text }, more) => {
      if (!isKept(named, name, text)) parse.call(named, { text, name }, more);
    };
    named.bind = (config, more) => bind.call(named, { ...config, statement: name }, more);
    try {
      Cursor.prototype.submit.call(this, connection);
    } finally {
      Object.assign(named, { parse, bind });
    }
  };
}

/** Whether the connection has the statement. Afterwards it has: who uses it closes the connection after an error. */
function isKept(connection: Connection, name: string, text: string): boolean {
  let kept = KEPT.get(connection);
  if (!kept) KEPT.set(connection, (kept = new Map()));
  const known = kept.get(name);
  const now = performance.now();
  if (known?.text === text && now < known.until) return true;
  if (known) connection.close({ type: 'S', name });
  kept.set(name, { text, until: now + KEPT_MS });
  return false;
}
