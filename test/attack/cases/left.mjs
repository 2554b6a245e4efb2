// Requests, bodies and answers that many clients begin and leave. Each client opens its connection again when it is
// closed.
import { readdirSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { newSecret } from '../../../dist/src/platform/auth/keys/secret.js';
import { aBatch, FORM, PROJECT, times } from '../client.mjs';
import { beside } from './edge.mjs';
import { block, END_HEADERS, frame, HEADERS, headersOf, PREFACE, SETTINGS } from './grpc.mjs';

const JSON_BODY = { 'content-type': 'application/json' };
const UNREAD = { reads: false };
const ADDRESSES = ['127.0.0.2', '127.0.0.3'];
/** A connection that sends this much at once has filled what Node reads of a body that nobody takes. */
const BEGUN = Buffer.alloc(128 * 1024, ' ');
const MIB = 1024 * 1024;
const LENGTHS = [{ 'transfer-encoding': 'chunked' }, { 'content-length': String(30 * MIB) }];
const ASSETS = new URL('../../../dist/console/assets/', import.meta.url);

/** Returns the head of a request and the begin of its body, without an end. */
function begun(it, path, headers, as) {
  const chunk = headers['transfer-encoding']
    ? [`${BEGUN.length.toString(16)}\r\n`, BEGUN, '\r\n']
    : [BEGUN];
  return Buffer.concat([it.head(path, headers, as), ...chunk].map((part) => Buffer.from(part)));
}

/** Leaves 9,600 connections of two addresses with these bytes, as many with each. */
async function leaveAll(it, kinds, how = {}) {
  const count = Math.floor(4800 / kinds.length);
  const left = ADDRESSES.flatMap((localAddress) =>
    kinds.map((bytes) => it.leave(count, bytes, { localAddress, ...how })),
  );
  await Promise.race([Promise.all(left), pause(it.options.patienceMs ?? 10_000)]);
  await pause(6000);
}

const get = (path, more = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;

/** The bytes of a connection of HTTP/2 with so many requests whose message never begins. */
const streams = (it, count, as) =>
  Buffer.concat([
    PREFACE,
    frame(SETTINGS, 0, 0),
    ...times(count, (i) => frame(HEADERS, END_HEADERS, 2 * i + 1, block(headersOf(it, as)))),
  ]);

export const cases = [
  ...['no', 'a made-up', 'a valid'].map((kind) => ({
    name: `left: 9,600 bodies that stop after 128 KB, with ${kind} key`,
    attack: (it) =>
      leaveAll(
        it,
        LENGTHS.map((length) => {
          const none = kind === 'no' && { authorization: '' };
          const as = kind === 'a valid' ? 'attacker' : newSecret();
          return begun(it, '/call/start', { ...JSON_BODY, ...length, ...none }, as);
        }),
      ),
  })),
  {
    name: 'left: 9,600 uploads of files that stop after 128 KB',
    attack: (it) =>
      leaveAll(
        it,
        LENGTHS.map((length) => begun(it, '/file/create', { ...FORM, ...length })),
      ),
  },
  {
    name: 'left: 9,600 heads of 15 KB',
    attack: (it) =>
      leaveAll(it, [`POST /call/start HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(15_000)}\r\n`]),
  },
  {
    name: 'left: 9,600 answers without a key that nobody reads',
    attack: (it) => {
      const [asset] = readdirSync(ASSETS).toSorted(
        (a, b) => statSync(new URL(b, ASSETS)).size - statSync(new URL(a, ASSETS)).size,
      );
      return leaveAll(it, [get('/openapi.json'), get(`/console/assets/${asset}`)], UNREAD);
    },
  },
  {
    name: 'left: 9,600 answers to a query that nobody reads',
    async attack(it) {
      const text = 'z'.repeat(100_000);
      for (let i = 0; i < 4; i++)
        await it.send(
          '/call/upsert_batch',
          aBatch(times(100, (n) => ({ id: `left-${i}-${n}`, inputs: { text } }))),
        );
      const ask = (path) => {
        const body = JSON.stringify({ project_id: PROJECT });
        return it.head(path, { ...JSON_BODY, 'content-length': String(body.length) }) + body;
      };
      await leaveAll(it, [ask('/calls/query'), ask('/calls/stream_query')], UNREAD);
    },
  },
  {
    name: 'left: 9,600 streams of events that nobody reads',
    async attack(it) {
      const key = `authorization: ${it.authorization('/events')}\r\n`;
      const left = leaveAll(
        it,
        [get(`/events?project_id=${encodeURIComponent(PROJECT)}`, key)],
        UNREAD,
      );
      for (let i = 0; i < 40; i++) {
        await it.send('/call/upsert_batch', aBatch([{ id: `events-${i}` }]));
        await pause(250);
      }
      await left;
    },
  },
  {
    name: 'left: 9,600 connections of gRPC with 100 requests each, without a valid key',
    attack: (it) => leaveAll(it, [streams(it, 100, newSecret())], { port: it.service.grpcPort }),
  },
  {
    name: 'left: 9,600 connections of gRPC with 100 requests each, with a valid key',
    attack: (it) => leaveAll(it, [streams(it, 100, 'attacker')], { port: it.service.grpcPort }),
  },
  {
    name: 'left: 5,000 connections of gRPC without a key, beside people and keys of their address',
    attack: (it) =>
      beside(it, () =>
        it.leave(5000, Buffer.concat([PREFACE, frame(SETTINGS, 0, 0)]), {
          port: it.service.grpcPort,
          localAddress: it.host,
        }),
      ),
  },
  {
    name: 'left: 100 connections of gRPC with 100 requests each, without a valid key, beside people and keys of their address',
    isQuick: true,
    attack: (it) =>
      beside(it, () =>
        it.leave(100, streams(it, 100, newSecret()), {
          port: it.service.grpcPort,
          localAddress: it.host,
        }),
      ),
  },
];
