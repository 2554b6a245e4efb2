import { send } from '../api/client.ts';
import { indexJson } from './json-indexer.ts';
import type { JsonIndex } from './json-index.ts';

/** A call as the service answers it, and where its values are. */
export async function readCall(
  project_id: string,
  id: string,
  signal: AbortSignal,
): Promise<JsonIndex> {
  const body = { project_id, id, include_costs: true };
  const response = await send('POST', '/call/read', { body, signal });
  return indexJson(await response.text(), signal);
}
