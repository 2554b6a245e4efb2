import { onlyProject, type Operation, reads, withBody } from '../support/operation-rows.js';

export const threadsOperations: Record<string, Operation> = {
  'POST /threads/stream_query': reads(onlyProject),
  'POST /threads/turns/query': reads(withBody(({ callId }) => ({ turn_ids: [callId] }))),
};
