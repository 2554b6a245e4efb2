#!/usr/bin/env -S node --max-semi-space-size=32
import { COMMIT, VERSION } from '../../platform/config/version.js';

/*
 * The program of an installed package and of an image. In a clone each command is an npm script: `npm start`, `npm run
 * keys`. All commands read their settings from the environment.
 */

interface Command {
  about: string;
  run: () => Promise<unknown>;
}

const COMMANDS: Record<string, Command> = {
  start: { about: 'run the service', run: () => import('../../main.js') },
  keys: { about: 'create, list and revoke keys; sign in', run: () => import('./keys.cli.js') },
  doctor: { about: 'say what is wrong with the set-up', run: () => import('./doctor.cli.js') },
  psql: { about: 'ask the database', run: () => import('./psql.cli.js') },
  migrate: {
    about: 'bring the schema to the newest migration',
    run: () => import('./migrate.cli.js'),
  },
  backup: { about: 'write the database into a file', run: () => import('./backup.cli.js') },
  restore: {
    about: 'put a backup into an empty database',
    run: () => import('./restore.cli.js'),
  },
  erased: {
    about: 'say where erased data is left, and remove it',
    run: () => import('./erased.cli.js'),
  },
  distribute: {
    about: 'spread the tables over a Citus cluster',
    run: () => import('./distribute.cli.js'),
  },
  reload: { about: 'replace the workers of the service', run: () => import('./reload.cli.js') },
  import: { about: 'send exports of other tools', run: () => import('./import.cli.js') },
  mcp: { about: 'offer the tools for agents over stdio', run: () => import('./mcp.cli.js') },
  completion: {
    about: 'print the completions for bash and zsh',
    run: async () => process.stdout.write(COMPLETION),
  },
  version: {
    about: 'print the version and the commit',
    run: async () => process.stdout.write(`${VERSION} (${COMMIT})\n`),
  },
};

const names = Object.keys(COMMANDS);

const USAGE = `skein COMMAND …

${names.map((name) => `  ${name.padEnd(12)}${COMMANDS[name]!.about}`).join('\n')}

\`skein COMMAND --help\` prints the arguments. Settings come from the environment: docs/operate.md.
`;

const COMPLETION = `# source <(skein completion)
if [ -n "$ZSH_VERSION" ]; then autoload -U +X bashcompinit && bashcompinit; fi
complete -o default -W '${names.join(' ')}' skein
`;

const [name = '', ...others] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (!command) {
  const isAsked = ['help', '--help', '-h'].includes(name);
  (isAsked ? process.stdout : process.stderr).write(USAGE);
  process.exitCode = isAsked ? 0 : 1;
} else if (name === 'start' && others.length > 0) {
  process.stderr.write('skein start takes no arguments: settings come from the environment\n');
  process.exitCode = 1;
} else {
  // a command reads its own arguments; workers start with the arguments of the service
  if (name !== 'start') process.argv.splice(2, 1);
  await command.run();
}
