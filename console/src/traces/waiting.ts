import type { CallRow } from '../api/calls.ts';
import { countCalls, countText } from './count.ts';
import { and, type CallsRequest, PAGE } from './request.ts';

/** The number of further rows before the last loaded one, as text; empty for none. */
export async function waitingFor(
  chosen: CallsRequest,
  rows: CallRow[],
  pages: CallRow[][],
  signal: AbortSignal,
): Promise<string> {
  const isComplete = (pages.at(-1)?.length ?? 0) < PAGE;
  const inFront = isComplete ? chosen : newerRequest(chosen, rows.at(-1)!, { orSame: true });
  const [newer, all] = await Promise.all([
    countCalls(newerRequest(chosen, rows[0]!), signal),
    countCalls(inFront, signal, rows.length),
  ]);
  // loaded rows that no longer match reduce the difference, but must not hide newer rows
  const { count, has_more } = newer.count > all.count ? newer : all;
  return count > 0 ? countText({ count, has_more }) : '';
}

/** Requests the rows before a row, newest first. */
function newerRequest(
  chosen: CallsRequest,
  { id, started_at }: { id: string; started_at: string },
  { orSame = false } = {},
): CallsRequest {
  const [at, of] = [
    [{ $getField: 'started_at' }, { $literal: started_at }],
    [{ $getField: 'id' }, { $literal: id }],
  ];
  const ofThatTime = and([{ $eq: at }, orSame ? { $gte: of } : { $gt: of }]);
  // the second condition implies the first, but only the first can use an index
  return withAlso(chosen, and([{ $gte: at }, { $or: [{ $gt: at }, ofThatTime] }]));
}

const withAlso = ({ query, ...rest }: CallsRequest, condition: object): CallsRequest => ({
  ...rest,
  query: { $expr: query ? and([query.$expr as object, condition]) : condition },
});
