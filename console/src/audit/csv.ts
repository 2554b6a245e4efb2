import { csvCell } from '../ui/csv.ts';
import type { Schema } from '../api/client.ts';

export type AuditEvent = Schema<'AuditEventDto'>;

const COLUMNS = [
  'created_at',
  'user',
  'action',
  'project_id',
  'target',
  'user_id',
  'key_id',
  'id',
] as const;

export const csv = (events: readonly AuditEvent[]): string =>
  [
    [...COLUMNS, 'detail'].join(','),
    ...events.map((event) =>
      [
        ...COLUMNS.map((name) => csvCell(event[name] ?? '')),
        csvCell(JSON.stringify(event.detail)),
      ].join(','),
    ),
  ].join('\r\n') + '\r\n';
