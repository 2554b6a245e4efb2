import 'reflect-metadata';

try {
  const { serve } = await import('./server.js');
  await serve();
} catch (error) {
  // Settings and the embedded database explain themselves; of anything else the stack is needed.
  const isExpected =
    error instanceof Error && ['InvalidSetting', 'Error'].includes(error.constructor.name);
  process.stderr.write(
    `skein cannot start: ${isExpected ? error.message : (error as Error).stack}\n`,
  );
  process.exit(1);
}
