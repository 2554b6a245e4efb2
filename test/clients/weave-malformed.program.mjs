// Traces go on beside calls that cannot be stored as they are: one has too long a name, one is nested too deeply.
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
// Its own retries would take 2 s; it is still there after them.
console.log(JSON.stringify({ isAlive: true }));
