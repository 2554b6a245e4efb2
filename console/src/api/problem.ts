/** What the service refused, or that it could not be reached. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId?: string,
  ) {
    super(detail);
  }
}

/** The problem document of an answer. */
export async function readProblem(response: Response): Promise<Problem> {
  const { status } = response;
  const requestId = response.headers.get('x-request-id') ?? undefined;
  try {
    const { code, detail } = (await response.json()) as { code: string; detail: string };
    return new Problem(status, code, detail, requestId);
  } catch {
    return new Problem(status, 'unknown', `the service answered ${status}`, requestId);
  }
}
