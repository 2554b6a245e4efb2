import { parseArgs } from 'node:util';
import { runCommand, printOutput, printProgress } from './command.js';
import { printable } from '../../platform/process/printable.js';
import { isProjectId, PROJECT_ID_RULE } from '../../platform/http/dto.js';
import { serviceUrl } from '../../platform/config/config.js';
import { config } from '../../platform/config/process-config.js';
import { type ImportFormat, FORMATS, importFile } from '../../doors/import/import.js';
import { TargetService } from '../../doors/import/target-service.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('import', 'langfuse|phoenix|otlp-json FILE --project <entity>/<project> [--url http://127.0.0.1:3000]')}

Sends what another tool has exported to a running service, with the key that SKEIN_API_KEY holds. FILE is JSON or JSONL, .gz is unpacked.
It is safe to repeat: rows with the same ids are stored once.`;

const EVERY_MS = process.stderr.isTTY ? 1000 : 10_000;

function parse() {
  try {
    const options = { project: { type: 'string' }, url: { type: 'string' } } as const;
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    throw new Error((error as Error).message, { cause: error }); // a typing mistake needs no stack
  }
}

await runCommand(USAGE, async () => {
  const { values, positionals } = parse();
  const [format = '', file, ...others] = positionals;
  if (!Object.hasOwn(FORMATS, format) || !file || others.length > 0) throw new Error(USAGE);
  const { project, url = serviceUrl(config) } = values;
  if (!isProjectId(project)) throw new Error(`--project ${PROJECT_ID_RULE}`);
  if (!config.apiKey) throw new Error('SKEIN_API_KEY must hold a key of the role writer');
  const service = new TargetService(url, config.apiKey, project);
  const began = performance.now();
  const sayLine = (line: string) => printProgress(printable(line));
  const tally = await importFile(file, format as ImportFormat, service, {
    say: sayLine,
    everyMs: EVERY_MS,
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  printOutput(`${file}: ${tally.summary()} into ${project} in ${seconds} s`);
  if (tally.refused > 0) process.exitCode = 1;
});
