// Traces go on beside a call that no server can store: its display name is too long for any column.
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
for (let i = 0; i < 3; i++) {
  await good(i);
  await odd();
  await client.waitForBatchProcessing();
}
// Its own retries would take 2 s; it is still there after them.
console.log(JSON.stringify({ isAlive: true }));
