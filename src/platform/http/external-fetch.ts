/** Longest answer of another service. Discovery documents, key sets and tokens are far shorter. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Longest wait for an answer of another service. */
export const EXTERNAL_SECONDS = 10;

/** Fetches from services of others. An answer that is too long is an error before it is held in memory. */
export async function fetchExternal(url: string, options: RequestInit): Promise<Response> {
  const signal = options.signal ?? AbortSignal.timeout(EXTERNAL_SECONDS * 1000);
  const response = await fetch(url, { ...options, signal });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new Error(`${url} answered with more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  const isEmpty = status === 204 || status === 304;
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, statusText, headers });
}

/**
 * Returns the messages of an error and its causes. Objects of a library may contain tokens, which must not be logged.
 */
export function listCauses(error: unknown): string[] {
  const causes: string[] = [];
  for (let each = error; each instanceof Error && causes.length < 5; each = each.cause) {
    const { code, error: told } = each as { code?: unknown; error?: unknown };
    const words = [code, told].filter((word) => typeof word === 'string');
    causes.push(`${each.name}: ${each.message}${words.length > 0 ? ` (${words.join(', ')})` : ''}`);
  }
  return causes;
}
