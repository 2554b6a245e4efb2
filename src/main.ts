import 'reflect-metadata';
import { explained } from './command.js';
import { serve } from './server.js';

try {
  await serve();
} catch (error) {
  process.stderr.write(`skein cannot start: ${explained(error)}\n`);
  process.exit(1);
}
