import pg, { type Submittable } from 'pg';
import { isPrepared } from './prepared-plans.js';

/** Methods of pg's connection for protocol messages. pg's types do not declare them; all have existed since pg 1. */
export interface PgConnection {
  readonly stream: { cork(): void; uncork(): void; write(bytes: Buffer): void };
  query(text: string): void;
  endCopyFrom(): void;
  parse(statement: { text: string; name?: string }): void;
  bind(values: { values?: unknown[]; statement?: string }): void;
  execute(portal: { rows?: number }): void;
  close(what: { type: 'S'; name: string }): void;
  flush(): void;
  sync(): void;
}

/** Converts a value to the text of a parameter. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } })
  .utils;

interface PortalStatement {
  text: string;
  values: unknown[];
  /** Name under which the connection keeps the plan. */
  keptAs: string | undefined;
  /** Time limit of the statement. PostgreSQL counts the reader's time too. */
  limitMs: number;
}

/** Receives the events of a portal. The rows themselves go to `RawRowReader`. */
interface PortalListener {
  /** A batch has arrived. `isLast` is true for the last batch, which may be empty. */
  onBatch: (isLast: boolean) => void;
  onError: (error: Error) => void;
  /** The transaction has ended and the connection is free. */
  onFree: () => void;
}

/**
 * Reads the rows of a statement in batches, in a read-only transaction of its own. Messages that can be sent together
 * are one write, because a write costs more than its content. The first write opens the transaction and fetches the
 * first batch. Each further batch is one write. The last write commits, and the reader does not wait for it. pg calls
 * `submit` and the methods that begin with `handle`.
 */
export class Portal implements Submittable {
  /** Read by code that watches statements. */
  readonly text: string;
  readonly values: unknown[];
  private connection: PgConnection | undefined;
  private completed = 0;

  /** The first batch has at most `firstRows` rows. */
  constructor(
    private readonly statement: PortalStatement,
    private readonly firstRows: number,
    private readonly heard: PortalListener,
  ) {
    this.text = statement.text;
    this.values = statement.values;
  }

  submit(connection: object): void {
    const { text, values, keptAs, limitMs } = this.statement;
    this.connection = connection as PgConnection;
    this.together((sent) => {
      run(sent, 'BEGIN READ ONLY');
      run(sent, `SET LOCAL statement_timeout = ${limitMs}`);
      if (keptAs === undefined) sent.parse({ text });
      else if (!isPrepared(sent, keptAs, text)) sent.parse({ text, name: keptAs });
      sent.bind({ values: values.map(prepareValue), ...(keptAs && { statement: keptAs }) });
      this.read(this.firstRows);
    });
  }

  read(rows: number): void {
    this.together((sent) => {
      sent.execute({ rows });
      sent.flush();
    });
  }

  private together(send: (connection: PgConnection) => void): void {
    sendTogether(this.connection!, send);
  }

  handlePortalSuspended(): void {
    this.heard.onBatch(false);
  }

  handleCommandComplete(): void {
    if (++this.completed !== 3) return; // BEGIN and SET come before it, COMMIT after it
    this.together((sent) => {
      run(sent, 'COMMIT');
      sent.sync();
    });
    this.heard.onBatch(true);
  }

  handleReadyForQuery(): void {
    this.heard.onFree();
  }

  handleError(error: Error): void {
    this.connection?.sync();
    this.heard.onError(error);
  }

  handleEmptyQuery(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
}

/** Sends several messages as one write. */
export function sendTogether(
  connection: PgConnection,
  send: (connection: PgConnection) => void,
): void {
  const { stream } = connection;
  stream.cork();
  try {
    send(connection);
  } finally {
    stream.uncork();
  }
}

function run(connection: PgConnection, text: string): void {
  connection.parse({ text });
  connection.bind({});
  connection.execute({});
}
