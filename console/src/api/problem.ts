import type { components } from './schema.d.ts';

type Document = components['schemas']['Problem'];

/** A refused value: its path in the body, and the reason. */
export type Violation = NonNullable<Document['errors']>[number];

/** A request that the service refused, or that did not reach it. */
export class Problem extends Error {
  readonly requestId: string | undefined;
  readonly violations: readonly Violation[];

  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    { requestId, violations = [] }: { requestId?: string; violations?: readonly Violation[] } = {},
  ) {
    super(detail);
    this.requestId = requestId;
    this.violations = violations;
  }
}

export async function readProblem(response: Response): Promise<Problem> {
  const { status } = response;
  const id = response.headers.get('x-request-id');
  const known = id === null ? {} : { requestId: id };
  try {
    const { code, detail, errors } = (await response.json()) as Document;
    return new Problem(status, code, detail, { ...known, ...(errors && { violations: errors }) });
  } catch {
    return new Problem(status, 'unknown', `the service answered ${status}`, known);
  }
}
