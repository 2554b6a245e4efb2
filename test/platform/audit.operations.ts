import { administers, type Operation } from '../support/operation-rows.js';

export const auditOperations: Record<string, Operation> = {
  'POST /audit/query': administers(() => ({ body: {} }), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    harmless: 'reads',
  }),
};
