// Tracing goes on after calls that cannot be stored: one has too long a name, one is nested too deeply.
import * as weave from 'weave';

const client = await weave.init('acme/malformed');
const good = weave.op(async function good(n) {
  return n;
});
const odd = weave.op(
  async function odd() {
    return 'odd';
  },
  { callDisplayName: () => 'x'.repeat(5000) },
);
const deep = weave.op(async function deep(nested) {
  return nested.length;
});
const nested = [];
for (let i = 0, at = nested; i < 1100; i++) at.push((at = []));
for (let i = 0; i < 3; i++) {
  await good(i);
  await odd();
  await deep(nested);
  await client.waitForBatchProcessing();
}
// The client's own retries take 2 s, and the process is still alive after them.
console.log(JSON.stringify({ isAlive: true }));
