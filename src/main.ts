import { setImmediate as nextRound } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import './platform/config/process-config.js';
import { StopRequest, type StopReason } from './server/stop-request.js';

// Allocates objects of requests in the young heap, whatever V8 has observed before: docs/adr/0138-young-garbage.md.
setFlagsFromString('--no-allocation-site-pretenuring');
// Sets when V8 collects garbage: docs/adr/0014-reads-as-bytes.md. The flags were measured with these versions. Older
// versions do not know the first flag.
if (/^1[34]\./.test(process.versions.v8)) {
  setFlagsFromString('--external-memory-accounted-in-global-limit');
  setFlagsFromString('--heap-growing-percent=100');
}

// Settings are checked, and signal handlers installed, before the rest is loaded, which takes a second.
const request = new StopRequest();

try {
  const { serve } = await request.during(import('./server/server.js'));
  await request.during(nextRound()); // a signal that arrived during loading is handled now
  await serve(request);
} catch (error) {
  if (request.signal.aborted) process.exit((request.signal.reason as StopReason).exitCode);
  const { errorText } = await import('./server/commands/command.js');
  process.stderr.write(`skein cannot start: ${errorText(error)}\n`);
  process.exit(1);
}
