import { integer, InvalidSetting, oneOf, type SettingReader } from './setting.js';

const PERIODS = ['daily', 'weekly', 'monthly'] as const;
/** Number of days, weeks and months with backups whose newest backup is kept. */
export type BackupRetention = Record<(typeof PERIODS)[number], number>;

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Access to an S3 bucket. The settings have the names that other programs use too. */
export interface S3Settings {
  /** Undefined for Amazon's. */
  endpoint: string | undefined;
  region: string;
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
  sessionToken: string | undefined;
  /** True when the bucket is in the path instead of the host name. */
  isPathStyle: boolean;
}

export function backupSettings(setting: SettingReader) {
  const backupUrl = readFolderUrl(setting, 'BACKUP_URL');
  return {
    /** Default destination of backups: `file:///…` or `s3://bucket/prefix`. Undefined for none. */
    backupUrl,
    /** Greatest age of the newest backup, in seconds. */
    backupEverySeconds: readInterval(setting),
    backupKeep: readRetention(setting),
    /** Public keys of age, each of whose identities opens a backup. Without any, backups are not encrypted. */
    backupRecipients: recipients(setting),
    /** An identity of age, or the text of a file with several. */
    backupIdentity: setting('BACKUP_IDENTITY'),
    /** True when the WAL of the embedded PostgreSQL is archived to `backupUrl` too. */
    isWalKept: readWalFlag(setting, backupUrl),
    /** The folder or bucket of exports by schedule. Undefined when there are none. */
    exportUrl: readFolderUrl(setting, 'EXPORT_URL'),
    /** Interval in which changed windows of exports are searched. */
    exportIntervalSeconds: integer(setting, 'EXPORT_INTERVAL_SECONDS', 60, [1, 3600]),
    s3: s3Settings(setting),
  };
}

function readFolderUrl(
  setting: SettingReader,
  name: 'BACKUP_URL' | 'EXPORT_URL',
): string | undefined {
  const text = setting(name);
  if (text === undefined || /^s3:\/\/[^/?#@]+(\/[^?#]*)?$/.test(text)) return text;
  if (/^file:\/\/\/[^?#]/.test(text)) return text;
  throw new InvalidSetting(
    `${name} must name a folder as file:///…, which may be of another machine, or s3://bucket/prefix, got "${text.replace(/\/\/.*@/, '//…@')}"`,
  );
}

function readInterval(setting: SettingReader): number {
  const text = setting('BACKUP_EVERY') ?? '1d';
  const [, count = '', unit = ''] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  if (Number(count) === 0)
    throw new InvalidSetting(`BACKUP_EVERY must be a time such as 30m, 6h or 1d, got "${text}"`);
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

function readRetention(setting: SettingReader): BackupRetention {
  const text = setting('BACKUP_KEEP') ?? 'daily=7,weekly=4,monthly=12';
  const kept: BackupRetention = { daily: 0, weekly: 0, monthly: 0 };
  for (const part of text.split(',')) {
    const [, period = '', count = ''] = /^\s*(\w+)=(\d{1,4})\s*$/.exec(part) ?? [];
    if (!PERIODS.some((known) => known === period))
      throw new InvalidSetting(
        `BACKUP_KEEP must be counts of ${PERIODS.join(', ')}, such as daily=7,weekly=4,monthly=12, got "${text}"`,
      );
    kept[period as keyof BackupRetention] = Number(count);
  }
  return kept;
}

function recipients(setting: SettingReader): string[] {
  const given = setting('BACKUP_RECIPIENT')?.split(/[\s,]+/) ?? [];
  for (const one of given)
    if (!/^age1[a-z0-9]{50,}$/.test(one))
      throw new InvalidSetting(
        'BACKUP_RECIPIENT must be public keys of age, age1…, with commas between: age-keygen prints one. Store its identity elsewhere',
      );
  return given;
}

function readWalFlag(setting: SettingReader, backupUrl: string | undefined): boolean {
  const isKept = oneOf(setting, 'BACKUP_WAL', ['0', '1']) === '1';
  if (isKept && setting('DATABASE_URL'))
    throw new InvalidSetting(
      'BACKUP_WAL=1 is for the embedded PostgreSQL: archive the WAL of the one in DATABASE_URL with its own tools',
    );
  if (isKept && backupUrl === undefined)
    throw new InvalidSetting('BACKUP_WAL=1 needs BACKUP_URL, where the WAL is stored');
  if (isKept && process.platform === 'win32')
    throw new InvalidSetting('BACKUP_WAL=1 needs a shell (/bin/sh), which Windows does not have');
  return isKept;
}

function s3Settings(setting: SettingReader): S3Settings {
  const endpoint = setting('AWS_ENDPOINT_URL_S3') ?? setting('AWS_ENDPOINT_URL');
  if (endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/.test(endpoint))
    throw new InvalidSetting(
      'AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL) must be an address such as https://s3.example.com:9000, without a path',
    );
  const style = oneOf(
    setting,
    'BACKUP_S3_STYLE',
    endpoint === undefined ? ['host', 'path'] : ['path', 'host'],
  );
  return {
    endpoint: endpoint?.replace(/\/$/, ''),
    region: setting('AWS_REGION') ?? setting('AWS_DEFAULT_REGION') ?? 'us-east-1',
    accessKeyId: setting('AWS_ACCESS_KEY_ID'),
    secretAccessKey: setting('AWS_SECRET_ACCESS_KEY'),
    sessionToken: setting('AWS_SESSION_TOKEN'),
    isPathStyle: style === 'path',
  };
}
