/** A refused value: where it stands in the body, and why. */
export interface Violation {
  path: string;
  message: string;
}

/** What the service refused, or that it could not be reached. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId?: string,
    readonly violations: readonly Violation[] = [],
  ) {
    super(detail);
  }
}

/** The problem document of an answer. */
export async function readProblem(response: Response): Promise<Problem> {
  const { status } = response;
  const requestId = response.headers.get('x-request-id') ?? undefined;
  try {
    const { code, detail, errors } = (await response.json()) as {
      code: string;
      detail: string;
      errors?: Violation[];
    };
    return new Problem(status, code, detail, requestId, errors);
  } catch {
    return new Problem(status, 'unknown', `the service answered ${status}`, requestId);
  }
}
