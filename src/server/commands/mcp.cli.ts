import { runCommand } from './command.js';
import { forwardMessages } from '../../doors/mcp/stdio.js';
import { serviceUrl } from '../../platform/config/config.js';
import { config } from '../../platform/config/process-config.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('mcp', '')}

Offers the tools of a running service to an agent over stdio (Model Context Protocol), with the key that SKEIN_API_KEY holds.
SKEIN_URL is the address of the service, http://127.0.0.1:3000 when absent.`;

await runCommand(USAGE, async () => {
  if (!config.apiKey) throw new Error('SKEIN_API_KEY must hold a key');
  const url = config.remoteUrl ?? serviceUrl(config);
  await forwardMessages({ url, key: config.apiKey }, process.stdin, process.stdout);
});
