import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { ApiError } from '../errors.js';
import { changeKind, TICK_MS } from '../database/changes.js';
import { EventStream } from './event-stream.js';

const CALLS = changeKind('calls');
const COSTS = changeKind('costs');
const JOBS = changeKind('jobs');

/** Returns a stream to a client. Its socket accepts bytes when `take` is called, and collects them in `text`. */
function aStream(assertValid: () => Promise<void> = async () => {}) {
  const socket = { text: '', take: () => {} };
  const taking = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      socket.take = () => {
        socket.text += String(chunk);
        socket.take = () => {};
        done();
      };
    },
  });
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  response.useChunkedEncodingByDefault = false;
  response.assignSocket(taking as Socket);
  const stream = new EventStream(response, { owner: 'a/k', assertValid });
  const takeAll = async () => {
    do {
      socket.take();
      await jest.advanceTimersByTimeAsync(1);
    } while (taking.writableLength > 0);
  };
  return { stream, response, socket, takeAll };
}

const ticksIn = (text: string) =>
  [...text.matchAll(/data: (.*)\n/g)].map(([, data]) => JSON.parse(data!).kinds);

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

it('tells a client that takes nothing one thing at a time, and the rest of it at once', async () => {
  const { stream, socket, takeAll } = aStream();
  stream.begin();
  await takeAll();
  stream.tick([CALLS]);
  await jest.advanceTimersByTimeAsync(1);
  for (let i = 0; i < 1000; i++) stream.tick([JOBS, COSTS]);
  await jest.advanceTimersByTimeAsync(100 * TICK_MS);
  await takeAll();
  await jest.advanceTimersByTimeAsync(TICK_MS);
  await takeAll();
  expect(socket.text).toMatch(/^HTTP\/1.1 200 OK\r\ncontent-type: text\/event-stream\r\n/);
  expect(ticksIn(socket.text)).toEqual([['calls'], ['jobs', 'costs']]);
});

it('cuts a client that has not taken the last sign of life', async () => {
  const { stream, response, takeAll } = aStream();
  stream.begin();
  await takeAll();
  stream.beat();
  await takeAll();
  stream.beat();
  expect(response.destroyed).toBe(false);
  stream.beat();
  expect(response.destroyed).toBe(true);
  stream.tick([CALLS]); // the client has gone
});

it('ends with its key', async () => {
  const { stream, response, takeAll } = aStream(() =>
    Promise.reject(new ApiError('unauthenticated', 'revoked')),
  );
  stream.begin();
  await takeAll();
  stream.tick([CALLS]);
  await takeAll();
  expect(response.writableFinished).toBe(true);
});

it('tells nothing, and later all of it, while the database cannot say whether the key is active', async () => {
  let isAway = true;
  const { stream, socket, takeAll } = aStream(async () => {
    if (isAway) throw new Error('away');
  });
  stream.begin();
  await takeAll();
  stream.tick([CALLS]);
  await jest.advanceTimersByTimeAsync(500);
  await takeAll();
  expect(ticksIn(socket.text)).toEqual([]);
  isAway = false;
  stream.tick([JOBS]);
  await jest.advanceTimersByTimeAsync(1000);
  await takeAll();
  expect(ticksIn(socket.text)).toEqual([['calls', 'jobs']]);
});
