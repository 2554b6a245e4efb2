import { textIn } from '../api/search.ts';

export interface AuditSearch {
  user?: string;
  action?: string;
  project?: string;
}

export function auditSearch(search: Record<string, unknown>): AuditSearch {
  const found: AuditSearch = {};
  for (const name of ['user', 'action', 'project'] as const) {
    const value = textIn(search[name]);
    if (value !== undefined) found[name] = value;
  }
  return found;
}
