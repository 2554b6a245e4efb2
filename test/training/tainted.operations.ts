import { counts, type Operation, withBody } from '../support/operation-rows.js';

export const taintedOperations: Record<string, Operation> = {
  'POST /lineage/tainted': counts(withBody(({ ownCallId }) => ({ call_ids: [ownCallId] }))),
};
