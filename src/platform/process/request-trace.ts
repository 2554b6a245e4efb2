import type { IncomingHttpHeaders } from 'node:http';

/** How a statement ended: the rows that it answered or wrote, as far as they are known, or why it failed. */
export interface StatementOutcome {
  rows?: number | undefined;
  error?: unknown;
  /** Where the time of a reader lies between: how long the database took. */
  ms?: number;
}

/** The span of a request, and those below it. */
export interface RequestTrace {
  /** Begins the span of a statement; what it answers ends it. */
  statement: (name: string) => (outcome: StatementOutcome) => void;
  /** Ends the span, with the status of the answer, or why there was none. */
  end: (facts: {
    method: string;
    route: string | undefined;
    status: number | 'cut';
    attributes: Record<string, string | undefined>;
  }) => void;
}

/** Where the service sends traces of itself. */
export interface SelfTracer {
  /** Begins the span of a request; undefined for one that is not traced. */
  request: (headers: IncomingHttpHeaders, path: string) => RequestTrace | undefined;
  /** Sends what is left. */
  stop: () => Promise<void>;
}
