import type { Submittable } from 'pg';
import type { CopyRows } from '../query/binary-copy.js';
import { type PgConnection, sendTogether } from './portal.js';

type EndCallback = (error: Error | null) => void;

/**
 * Sends a `COPY` and its rows as one write, without waiting until PostgreSQL is ready for the rows. If PostgreSQL
 * refuses the statement, it ignores the rows that follow
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY). pg calls `submit` and the methods that
 * begin with `handle`.
 */
export class CopyIn implements Submittable {
  /** Read by code that watches statements. */
  readonly text: string;

  constructor(
    private readonly rows: CopyRows,
    private readonly ended: EndCallback,
  ) {
    this.text = rows.statement.text;
  }

  submit(connection: object): void {
    sendTogether(connection as PgConnection, (sent) => {
      sent.query(this.text);
      sent.stream.write(this.rows.finish());
      sent.endCopyFrom();
    });
  }

  handleError(error: Error): void {
    this.ended(error);
  }

  handleReadyForQuery(): void {
    this.ended(null);
  }

  handleCopyInResponse(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
}
