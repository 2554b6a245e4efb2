import { send } from '../api/client.ts';
import { indexJson } from './json-indexer.ts';
import type { JsonIndex } from './json-index.ts';

/** Reads a call as the text of the answer, with an index of its values. */
export async function readCall(
  project_id: string,
  id: string,
  signal: AbortSignal,
): Promise<JsonIndex> {
  const body = { project_id, id, include_costs: true };
  const response = await send('POST', '/call/read', { body, signal });
  return indexJson(await response.text(), signal);
}
