import {
  administers,
  counts,
  onlyProject,
  type Operation,
  withBody,
} from '../support/operation-rows.js';

export const retentionOperations: Record<string, Operation> = {
  'POST /project/ttl_settings/read': counts(onlyProject),
  'POST /project/ttl_settings/update': administers(withBody(() => ({ retention_days: 3650 }))),
  'POST /retention/set': administers(withBody(() => ({ calls_days: null, payload_days: 36_500 }))),
  'POST /retention/read': counts(onlyProject),
};
