import { integer, type SettingReader } from './setting.js';

export function quotaSettings(setting: SettingReader) {
  const limit = (name: string) => integer(setting, name, 0, [0, 1e15]) || null;
  return {
    /** Quotas of each entity that has none of its own; null is no limit. */
    quotas: {
      stored_bytes: limit('QUOTA_STORED_BYTES'),
      written_bytes_per_day: limit('QUOTA_WRITTEN_BYTES_PER_DAY'),
      calls_per_day: limit('QUOTA_CALLS_PER_DAY'),
      requests_per_minute: limit('QUOTA_REQUESTS_PER_MINUTE'),
    },
  };
}
