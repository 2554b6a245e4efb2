import { type CallsRequest, pageRequest, type Sort } from './request.ts';

/** Writes the request of a list as a curl command. The key comes from an environment variable. */
export const asCurl = (url: string, chosen: CallsRequest, sort: Sort | undefined): string =>
  `curl -sS -u "me:$SKEIN_API_KEY" -H 'Content-Type: application/json' ${url}/calls/stream_query \\\n  -d '${JSON.stringify(
    pageRequest(chosen, { sort }),
  ).replaceAll("'", `'\\''`)}'`;
