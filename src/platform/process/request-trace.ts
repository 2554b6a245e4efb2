import type { IncomingHttpHeaders } from 'node:http';

/** The outcome of a statement: the number of rows returned or written, if known, or its error. */
export interface StatementOutcome {
  rows?: number | undefined;
  error?: unknown;
  /** Time in the database, when a reader of the rows also takes time. */
  ms?: number;
}

/** The span of a request, and the spans below it. */
export interface RequestTrace {
  /** Begins the span of a statement. The returned function ends it. */
  statement: (name: string) => (outcome: StatementOutcome) => void;
  /** Ends the span, with the status of the answer, or `cut` without a complete answer. */
  end: (facts: {
    method: string;
    route: string | undefined;
    status: number | 'cut';
    attributes: Record<string, string | undefined>;
  }) => void;
}

export interface SelfTracer {
  /** Begins the span of a request. Undefined when the request is not traced. */
  request: (headers: IncomingHttpHeaders, path: string) => RequestTrace | undefined;
  stop: () => Promise<void>;
}
