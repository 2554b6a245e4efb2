import { setImmediate as nextRound } from 'node:timers/promises';
import './platform/config/process-config.js';
import { StopRequest, type Stopped } from './server/stop-request.js';

// Settings are checked, and the handlers of signals stand, before the rest is loaded, which takes a second.
const request = new StopRequest();

try {
  const { serve } = await request.during(import('./server/server.js'));
  await request.during(nextRound()); // a signal that came while it was loaded is seen now
  await serve(request);
} catch (error) {
  if (request.signal.aborted) process.exit((request.signal.reason as Stopped).exitCode);
  const { explained } = await import('./server/commands/command.js');
  process.stderr.write(`skein cannot start: ${explained(error)}\n`);
  process.exit(1);
}
