import { type Operation, reads, withBody } from '../support/operation-rows.js';

export const exportOperations: Record<string, Operation> = {
  'POST /export': reads(withBody(() => ({ of: 'calls', format: 'jsonl' }))),
};
