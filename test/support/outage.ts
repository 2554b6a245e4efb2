import { setTimeout as pause } from 'node:timers/promises';
import { aStart } from './factories.js';
import type { Server } from './server.js';

export const PROJECT = 'acme/drill';
export const CLIENTS = 20;

/** Runs clients that write calls until `stop` is called. */
export function writers(server: Server) {
  const acknowledged: string[] = [];
  const refused: string[] = [];
  const problems: string[] = [];
  const waits: { sentAt: number; ms: number; status: number }[] = [];
  const stopping = new AbortController();
  const write = async (id: string) => {
    const sentAt = performance.now();
    const { status, headers } = await server.post('/call/start', {
      start: aStart({ project_id: PROJECT, id }),
    });
    waits.push({ sentAt, ms: performance.now() - sentAt, status });
    if (status === 200) acknowledged.push(id);
    else refused.push(id);
    const isExpected = status === 200 || (status === 503 && headers.get('retry-after') !== null);
    if (!isExpected) problems.push(`${id}: ${status}`);
    return status;
  };
  const client = async (name: number) => {
    for (let n = 0; !stopping.signal.aborted; n++)
      if ((await write(`${name}-${n}`)) !== 200) await pause(200); // a client that retries later
  };
  const clients = Array.from({ length: CLIENTS }, (_, name) => client(name));
  return {
    acknowledged,
    refused,
    problems,
    waits,
    write,
    stop: () => {
      stopping.abort();
      return Promise.all(clients);
    },
  };
}

export async function readiness(server: Server): Promise<{ status: number; body: any }> {
  const answer = await fetch(`${server.url}/ready`).catch((cause: unknown) => {
    throw new Error(`/ready was not answered:\n${server.output().slice(-5000)}`, { cause });
  });
  return { status: answer.status, body: await answer.json() };
}
