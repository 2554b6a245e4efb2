import { Problem, readProblem } from './problem.ts';
import type { components, paths } from './schema.d.ts';

type Operation<P, M extends string> = P extends Record<M, infer O> ? O : never;
type JsonBody<T> = T extends { content: { 'application/json': infer B } } ? B : never;
type Paths<M extends string> = {
  [P in keyof paths]: Operation<paths[P], M> extends { responses: object } ? P : never;
}[keyof paths];

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type RequestBody<P extends Paths<'post'>> =
  Operation<paths[P], 'post'> extends { requestBody: infer B } ? JsonBody<B> : undefined;
export type Answer<P extends keyof paths, M extends string> =
  Operation<paths[P], M> extends { responses: { 200: infer A } } ? JsonBody<A> : unknown;

type JsonLines<T> = T extends { content: { 'application/jsonl': infer L } } ? L : never;
export type AnswerLine<P extends Paths<'post'>> =
  Operation<paths[P], 'post'> extends { responses: { 200: infer A } } ? JsonLines<A> : never;

export interface RequestOptions {
  signal?: AbortSignal;
  /** The URL to send to, for operations whose path has parameters. */
  to?: string;
}

const onEnd = new Set<() => void>();

/** Calls the listener when an answer reports that the session has ended. */
export function whenSessionEnds(listener: () => void): () => void {
  onEnd.add(listener);
  return () => onEnd.delete(listener);
}

/**
 * Sends a request of this session.
 * @throws Problem for every status but 2xx
 */
export async function send(
  method: string,
  path: string,
  { body, signal, headers }: { body?: unknown; signal?: AbortSignal; headers?: HeadersInit } = {},
): Promise<Response> {
  const response = await fetch(path, {
    method,
    headers: {
      // a page of another origin cannot set this header: without it the service ignores the session cookie
      'x-skein-console': '1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(new Headers(headers)),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Problem(0, 'unreachable', 'the service cannot be reached');
  });
  if (response.ok) return response;
  const problem = await readProblem(response);
  if (problem.status === 401) for (const listener of onEnd) listener();
  throw problem;
}

export async function post<P extends Paths<'post'>>(
  path: P,
  body: RequestBody<P>,
  { signal, to = path }: RequestOptions = {},
): Promise<Answer<P, 'post'>> {
  const response = await send('POST', to, { body, ...(signal && { signal }) });
  return (await response.json()) as Answer<P, 'post'>;
}

export async function get<P extends Paths<'get'>>(
  path: P,
  { signal, to = path }: RequestOptions = {},
): Promise<Answer<P, 'get'>> {
  const response = await send('GET', to, signal ? { signal } : {});
  return (await response.json()) as Answer<P, 'get'>;
}

/** Yields the objects of a stream of JSON lines as they arrive, a few thousand at a time. */
export async function* streamLines<P extends Paths<'post'>>(
  path: P,
  body: RequestBody<P>,
  signal?: AbortSignal,
): AsyncGenerator<AnswerLine<P>[]> {
  const response = await send('POST', path, { body, ...(signal && { signal }) });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const texts = (rest + value).split('\n');
    rest = texts.pop()!;
    if (texts.length > 0) yield texts.map((text) => JSON.parse(text) as AnswerLine<P>);
  }
}

export async function allLines<P extends Paths<'post'>>(
  path: P,
  body: RequestBody<P>,
  signal?: AbortSignal,
): Promise<AnswerLine<P>[]> {
  const all: AnswerLine<P>[] = [];
  for await (const some of streamLines(path, body, signal)) for (const one of some) all.push(one);
  return all;
}
