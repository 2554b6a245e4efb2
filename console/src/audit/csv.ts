import type { Schema } from '../api/client.ts';

export type Event = Schema<'AuditEventDto'>;

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

/** A cell that begins like a formula gets an apostrophe, so that no spreadsheet runs what somebody chose as a name. */
const cell = (value: string): string => {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csv = (events: readonly Event[]): string =>
  [
    [...COLUMNS, 'detail'].join(','),
    ...events.map((event) =>
      [...COLUMNS.map((name) => cell(event[name] ?? '')), cell(JSON.stringify(event.detail))].join(
        ',',
      ),
    ),
  ].join('\r\n') + '\r\n';
