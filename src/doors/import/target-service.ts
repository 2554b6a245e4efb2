import { setTimeout as pause } from 'node:timers/promises';

/** The error for a request that the service refuses. Its message is the `detail` of the answer. */
export class RefusedRequest extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const TRIES = 6;

export class TargetService {
  constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly project: string,
  ) {}

  /**
   * Posts JSON and returns the JSON of the answer. While the service is unreachable or busy, it waits and tries again:
   * imported items may be sent any number of times.
   * @throws RefusedRequest, Error
   */
  async post(path: string, body: string): Promise<unknown> {
    const headers = {
      authorization: `Basic ${Buffer.from(`${this.project}:${this.key}`).toString('base64')}`,
      'content-type': 'application/json',
      project_id: this.project,
    };
    for (let tried = 1; ; tried++) {
      const answer = await this.tryToPost(new URL(path, this.url), {
        method: 'POST',
        headers,
        body,
      });
      if ('json' in answer) return answer.json;
      const { status, problem, waitS } = answer;
      const isTemporary = status === 408 || status === 429 || status >= 500;
      if (!isTemporary) throw new RefusedRequest(status, problem);
      if (tried === TRIES) throw new Error(problem);
      await pause((waitS ?? 2 ** (tried - 1)) * 1000);
    }
  }

  private async tryToPost(url: URL, request: RequestInit): Promise<Outcome> {
    try {
      const response = await fetch(url, request);
      const text = await response.text();
      if (response.ok) return { json: JSON.parse(text) };
      const { status, statusText } = response;
      const wait = response.headers.get('retry-after');
      const problem = errorDetail(text) ?? `${status} ${statusText}`;
      return { status, problem, ...(wait !== null && { waitS: Number(wait) }) };
    } catch (error) {
      const { cause, message } = error as Error;
      const why = cause instanceof Error ? cause.message : message;
      return { status: 503, problem: `${this.url} cannot be reached: ${why}` };
    }
  }
}

type Outcome = { json: unknown } | { status: number; problem: string; waitS?: number };

function errorDetail(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { detail?: string }).detail;
  } catch {
    return undefined;
  }
}
