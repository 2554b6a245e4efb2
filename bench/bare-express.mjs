// The cost of Express itself: parses the body of /call/start and returns an answer of the same shape.
import express from 'express';

const app = express();
app.disable('x-powered-by');
app.use(express.json({ limit: '32mb' }));
app.post('/call/start', ({ body: { start } }, response) =>
  response.json({ id: start.id, trace_id: start.trace_id }),
);
const server = app.listen(0, '127.0.0.1', () =>
  console.log(
    `bare Express listens on http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
  ),
);
