import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { validate } from '../../platform/http/validation.js';
import { parseDate } from '../../platform/http/dto.js';
import { runCommand, flushOutput, operator, printOutput, withDatabase } from './command.js';
import { serviceUrl } from '../../platform/config/config.js';
import { config } from '../../platform/config/process-config.js';
import { Database } from '../../platform/database/database.js';
import { migrate } from '../../platform/database/migrate.js';
import { KeyUses } from '../../platform/audit/key-uses.js';
import type { ApiKey } from '../../platform/auth/keys/api-key.entity.js';
import { CreateKeyDto, KEYS_PAGE } from '../../platform/auth/keys/keys.dto.js';
import { FailedAttempts } from '../../platform/auth/limits/failed-attempts.js';
import { KeysService } from '../../platform/auth/keys/keys.service.js';
import { newSecret } from '../../platform/auth/keys/secret.js';
import { printable } from '../../platform/process/printable.js';
import { loginLink, newLoginCode } from '../../platform/auth/sessions/sessions.service.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${[
  'create --user <name> --role reader|writer|admin|trainer --scope <scope> [--scope …] [--expires <date-time>]',
  'list',
  'revoke <id>',
  'login [<id>]',
  'generate',
]
  .map((args) => commandText('keys', args))
  .join('\n')}

login prints a link to the console, which works once, within 15 minutes, and acts as the key named, or else as the oldest with
the role admin and the scope *. A scope is *, <entity>/* or <entity>/<project>. Works beside a running server; generate only prints a key for
BOOTSTRAP_API_KEY and needs no database.`;

async function create(keys: KeysService, options: Options): Promise<void> {
  const { user, role, scope: scopes, expires } = options;
  const request = { user, role, scopes, expires_at: expires };
  const { violations } = validate(CreateKeyDto, request);
  if (user === undefined) violations.push({ path: 'user', message: 'must be given' });
  const flags: Record<string, string> = { scopes: 'scope', expires_at: 'expires' };
  if (violations.length > 0)
    throw new Error(
      violations
        .map(
          ({ path, message }) =>
            `--${path.replace(/^\w+/, (name) => flags[name] ?? name)} ${message}`,
        )
        .join('\n'),
    );
  const valid = request as CreateKeyDto;
  const { id, secret } = await keys.create(
    {
      userName: valid.user!,
      role: valid.role,
      scopes: valid.scopes,
      expiresAt: valid.expires_at ? parseDate(valid.expires_at) : null,
    },
    operator(),
  );
  printOutput(`id      ${id}\nsecret  ${secret}   (shown this once)`);
}

async function list(keys: KeysService): Promise<void> {
  let head = [['id', 'key', 'user', 'role', 'scopes', 'state']];
  for await (const page of keys.pages(KEYS_PAGE)) {
    sayTable([...head, ...page.map(keyRow)]);
    await flushOutput();
    head = [];
  }
}

const keyRow = (key: ApiKey) => [
  key.id,
  `${key.hint}…`,
  printable(key.userName),
  key.role,
  key.scopes.join(' '),
  describeState(key),
];

function sayTable(table: string[][]): void {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table)
    printOutput(
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    );
}

function describeState({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`;
  if (!expiresAt) return 'active';
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'expires'} ${expiresAt.toISOString()}`;
}

const isKeyId = (id: string) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id);

async function revoke(keys: KeysService, id: string | undefined): Promise<void> {
  if (!id || !isKeyId(id)) throw new Error('revoke takes the id of a key');
  if (!(await keys.revoke(id, operator()))) throw new Error(`there is no active key ${id}`);
  printOutput(`revoked ${id}; it stops working within 5 s`);
}

/** Prints a login link with PUBLIC_URL or the configured port. A service with other settings is elsewhere. */
async function login(database: Database, id: string | undefined): Promise<void> {
  if (id !== undefined && !isKeyId(id)) throw new Error('login takes the id of a key, or nothing');
  const code = await newLoginCode(database, operator(), id);
  if (!code)
    throw new Error(
      id === undefined
        ? 'there is no active key with the role admin and the scope *'
        : `there is no active key ${id} that may use the console`,
    );
  printOutput(loginLink(config.publicUrl ?? serviceUrl(config), code));
}

type Options = ReturnType<typeof parseCommandLine>['values'];

function parse() {
  try {
    return parseCommandLine();
  } catch (error) {
    throw new Error((error as Error).message, { cause: error }); // a typing mistake needs no stack
  }
}

const parseCommandLine = () =>
  parseArgs({
    allowPositionals: true,
    options: {
      user: { type: 'string' },
      role: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
    },
  });

async function run(): Promise<void> {
  const { values, positionals } = parse();
  const [command, id] = positionals;
  if (command === 'generate') return printOutput(newSecret());
  const commands: Record<string, (keys: KeysService, database: Database) => Promise<void>> = {
    create: (keys) => create(keys, values),
    list,
    revoke: (keys) => revoke(keys, id),
    login: (_, database) => login(database, id),
  };
  const chosen =
    command !== undefined && Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (!chosen) throw new Error(USAGE);
  await withDatabase(async (dataSource) => {
    await migrate(dataSource, config);
    const database = new Database(dataSource, config);
    await chosen(
      new KeysService(database, new FailedAttempts(), new KeyUses(database), config),
      database,
    );
  });
}

await runCommand(USAGE, run);
