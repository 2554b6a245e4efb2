import pg, { type Submittable } from 'pg';
import { isPrepared } from './prepared-plans.js';
import { STATEMENT_MS } from './limits.js';

/** What pg has for the messages of the protocol, and declares nowhere; all is its own since version 1. */
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

/** The text of a parameter. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } })
  .utils;

/** PostgreSQL counts the reader's time too, so the limit of a statement is that of a stream. */
const BEFORE = ['BEGIN READ ONLY', `SET LOCAL statement_timeout = ${STATEMENT_MS.stream}`];

/** Is told what comes. `RawRowReader` has the rows themselves. */
interface PortalListener {
  /** A batch has come; of the last one, which may be empty, `isLast` says that. */
  onBatch: (isLast: boolean) => void;
  onError: (error: Error) => void;
  /** The transaction has ended, and the connection is free. */
  onFree: () => void;
}

/**
 * Reads the rows of a statement in batches, in a transaction of its own that only reads. What can be sent together goes as one write, since
 * each costs more than what it says: the transaction, the statement and its first batch; then each batch; then the end, which nobody waits
 * for with the rows. pg calls the methods that begin with `handle`, and `submit`.
 */
export class Portal implements Submittable {
  readonly text: string;
  readonly values: unknown[];
  private readonly keptAs: string | undefined;
  private connection: PgConnection | undefined;
  private completed = 0;

  /** With `keptAs` the connection keeps the plan under this name. The first batch has at most `firstRows`. */
  constructor(
    { text, values, keptAs }: { text: string; values: unknown[]; keptAs: string | undefined },
    private readonly firstRows: number,
    private readonly heard: PortalListener,
  ) {
    this.text = text;
    this.values = values;
    this.keptAs = keptAs;
  }

  submit(connection: object): void {
    const { text, values, keptAs } = this;
    this.connection = connection as PgConnection;
    this.together((sent) => {
      for (const before of BEFORE) run(sent, before);
      if (keptAs === undefined) sent.parse({ text });
      else if (!isPrepared(sent, keptAs, text)) sent.parse({ text, name: keptAs });
      sent.bind({ values: values.map(prepareValue), ...(keptAs && { statement: keptAs }) });
      this.read(this.firstRows);
    });
  }

  /** Asks for the next batch. */
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
    if (++this.completed !== BEFORE.length + 1) return;
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

/** Sends messages as one write. */
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
