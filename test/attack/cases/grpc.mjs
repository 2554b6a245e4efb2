// Attacks on OTLP over gRPC: HTTP/2 streams, frames and headers that no exporter sends.
import { connect } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';
import { field, many, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;
export const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
/** Allowed answers to an export. `cut` is a stream that ended without an answer. */
const ANSWERS = [200, ...[0, 3, 4, 8, 14, 16].map((code) => `grpc ${code}`), 'grpc cut'];
const PATIENCE_MS = 30_000;

/** A message of one span. */
const SPAN = field(
  1,
  field(
    2,
    field(
      2,
      Buffer.concat([
        field(1, Buffer.alloc(16, 7)),
        field(2, Buffer.alloc(8, 7)),
        field(5, Buffer.from('x')),
      ]),
    ),
  ),
);

function message(bytes, { flag = 0, length = bytes.length } = {}) {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}

export const headersOf = (it, as) => ({
  ':method': 'POST',
  ':path': EXPORT,
  'content-type': 'application/grpc',
  te: 'trailers',
  project_id: as === 'victim' ? 'other/project' : PROJECT,
  ...(as && { authorization: it.authorization(EXPORT, as) }),
});

/** Waits for an event, or until the timeout. Ignores errors. */
const sees = (emitter, event, ms = PATIENCE_MS) =>
  Promise.race([new Promise((resolve) => emitter.once(event, resolve)), pause(ms)]);

/** Memory of a session. The library refuses answers beyond its default of 10 MB. */
const CLIENT = { maxSessionMemory: 100_000 };

/** Opens `count` connections, runs `use` with them, and closes them. */
async function withSessions(it, count, use) {
  const sessions = times(count, () =>
    connect(`http://${it.host}:${it.service.grpcPort}`, CLIENT).on('error', () => {}),
  );
  try {
    return await use(sessions);
  } finally {
    for (const session of sessions) session.destroy();
  }
}

/** Opens a stream. `answer` becomes its gRPC code or `cut`. */
function begin(it, session, { as = 'attacker', headers = {}, ms = PATIENCE_MS } = {}) {
  const dead = { stream: null, answer: Promise.resolve('cut') };
  if (session.closed || session.destroyed) return dead;
  const stream = session.request({ ...headersOf(it, as), ...headers });
  let code = 'cut';
  const see = (given) => (code = given['grpc-status'] ?? code);
  stream
    .on('error', () => {})
    .on('response', see)
    .on('trailers', see);
  stream.resume().setTimeout(ms, () => stream.close(8));
  const answer = new Promise((resolve) => stream.once('close', resolve)).then(() => {
    it.count(`grpc ${code}`);
    return code;
  });
  return { stream, answer };
}

function call(it, session, bytes, options = {}) {
  const { stream, answer } = begin(it, session, options);
  stream?.end(bytes);
  return answer;
}

/** Exports with another key all the time. */
async function victimExports(it, count = 1) {
  await withSessions(it, 1, async ([session]) => {
    for (let i = 0; i < count; i++) {
      const code = await call(it, session, message(SPAN), { as: 'victim' });
      it.must(code === '0', `an export of another key ended with ${code}`);
      if (count > 1) await pause(50);
    }
  });
}

/**
 * Checks that the attack left nothing: the memory for bodies is free, and another key can export. Node does not tell
 * when a client has broken the protocol, so its requests end at their deadline of 20 s.
 */
async function mustRecover(it) {
  let free = false;
  for (let i = 0; i < 250 && !free; i++) {
    const { text } = await it.send('/metrics', undefined, { method: 'GET' });
    free = /^skein_body_bytes 0$/m.test(text);
    if (!free) await pause(100);
  }
  it.must(free, 'memory of bodies stays reserved');
  await victimExports(it);
}

// HTTP/2 frames as bytes.

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const DATA = 0;
export const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
export const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const number = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
/** Encodes an integer for HPACK with a prefix of this many bits. */
function whole(value, bits, flags = 0) {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.from([flags | value]);
  const bytes = [flags | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
const text = (value) => Buffer.concat([whole(Buffer.byteLength(value), 7), Buffer.from(value)]);
/** Encodes a header. With `isKept` the table keeps it as index 62, and earlier headers move up. */
const header = ([name, value], isKept = false) =>
  Buffer.concat([Buffer.from([isKept ? 0x40 : 0]), text(name), text(value)]);
export const block = (headers) =>
  Buffer.concat(
    Object.entries({ ':scheme': 'http', ':authority': 'x', ...headers }).map((one) => header(one)),
  );

/** Opens a connection for frames that the case builds itself. */
async function wire(it, settings = Buffer.alloc(0)) {
  const socket = it.open(undefined, it.service.grpcPort);
  socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, settings)]));
  await Promise.race([sees(socket, 'data', 5000), sees(socket, 'close', 5000)]);
  return socket;
}

/** Writes until everything is sent or the connection has ended. Returns the number of written parts. */
async function flood(socket, count, part, isRead = true) {
  if (!isRead) socket.pause();
  const together = 500;
  let sent = 0;
  while (sent < count && !socket.destroyed) {
    const parts = times(Math.min(together, count - sent), (i) => part(sent + i));
    sent += parts.length;
    if (!socket.write(Buffer.concat(parts)))
      await Promise.race([sees(socket, 'drain', 5000), sees(socket, 'close', 5000)]);
    if (socket.writableLength > 64 * MIB) break; // the service does not read
  }
  return sent;
}

export const cases = [
  {
    name: 'grpc: 100 streams of 30 MiB on each of some connections, with and without a key',
    answers: ANSWERS,
    deadlineMs: 200_000,
    async attack(it) {
      const large = message(Buffer.alloc(30 * MIB));
      const width = 8;
      for (const as of [undefined, 'skn_wrong', 'attacker'])
        await withSessions(it, width, (sessions) =>
          Promise.all([
            ...sessions.flatMap((session) => times(100, () => call(it, session, large, { as }))),
            victimExports(it, 20),
          ]),
        );
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: prefixes that lie, and compressed bombs',
    isQuick: true,
    answers: ANSWERS,
    deadlineMs: 200_000,
    async attack(it) {
      const bomb = Buffer.alloc((it.options.isQuick ? 64 : 512) * MIB);
      const bombs = {
        gzip: gzipSync(bomb, { level: 1 }),
        deflate: deflateSync(bomb, { level: 1 }),
      };
      const lies = [
        [message(SPAN, { length: SPAN.length + 1 })],
        [message(SPAN, { length: SPAN.length - 1 })],
        [message(SPAN, { length: 0 })],
        [message(SPAN, { length: 2 ** 32 - 1 })],
        [message(SPAN, { length: 2 ** 31 })],
        [message(SPAN, { length: 31 * MIB })],
        [Buffer.concat([message(SPAN), message(SPAN)])],
        [Buffer.concat([message(SPAN), Buffer.alloc(8 * MIB)])],
        [message(SPAN, { flag: 255 })],
        [message(SPAN).subarray(0, 4)],
        [Buffer.alloc(0)],
        ...Object.entries(bombs).flatMap(([encoding, bytes]) => [
          [message(bytes, { flag: 1 }), { 'grpc-encoding': encoding }],
          [message(gzipSync(bytes), { flag: 1 }), { 'grpc-encoding': encoding }],
          [message(bytes.subarray(0, -100), { flag: 1 }), { 'grpc-encoding': encoding }],
        ]),
      ];
      await withSessions(it, 4, (sessions) =>
        many(lies.length * (it.options.isQuick ? 8 : 50), 100, (i) => {
          const [bytes, headers] = lies[i % lies.length];
          return call(it, sessions[i % sessions.length], bytes, { headers });
        }),
      );
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: 500 streams whose prefix and whose body come byte by byte',
    isQuick: true,
    answers: ANSWERS,
    async attack(it) {
      const claimed = message(SPAN, { length: 30 * MIB });
      await withSessions(it, 5, async (sessions) => {
        const streams = times(500, (i) => begin(it, sessions[i % 5]).stream).filter(Boolean);
        for (let i = 0; i < (it.options.isQuick ? 10 : 60); i++) {
          for (const [n, stream] of streams.entries())
            if (n % 2 || i < 4) stream.write(claimed.subarray(i, i + 1));
          await pause(100);
        }
        await victimExports(it, 5);
      });
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: heads without an end, too many headers, and headers that HPACK makes large',
    answers: ANSWERS,
    deadlineMs: 200_000,
    async attack(it) {
      const rounds = 20;
      const own = headersOf(it, 'attacker');
      const junk = (size) => header([`x-${size}`, 'y'.repeat(size)]);
      for (let round = 0; round < rounds; round++) {
        const endless = await wire(it);
        endless.write(frame(HEADERS, 0, 1, block(own)));
        await flood(endless, 4000, () => frame(CONTINUATION, 0, 1, junk(16_000)));
        const empty = await wire(it);
        empty.write(frame(HEADERS, 0, 1, block(own)));
        await flood(empty, 200_000, () => frame(CONTINUATION, 0, 1));
        // the table keeps one header of 4,000 bytes, and 16,000 bytes refer to it
        const bombs = await wire(it);
        const seed = Buffer.concat([block(own), header(['x', 'y'.repeat(4000)], true)]);
        bombs.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, seed));
        const bomb = Buffer.concat([block(own), Buffer.alloc(15_000, 0x80 + 62)]);
        await flood(bombs, 2000, (i) => frame(HEADERS, END_HEADERS, 2 * i + 3, bomb));
        const crumbs = await wire(it);
        const many = Buffer.concat([block(own), ...times(1500, (i) => header([`h${i}`, '']))]);
        await flood(crumbs, 2000, (i) => frame(HEADERS, END_HEADERS, 2 * i + 1, many));
      }
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: 100,000 streams that are reset as soon as they are opened, on 10 connections',
    isQuick: true,
    answers: ANSWERS,
    deadlineMs: 200_000,
    async attack(it) {
      const { service } = it;
      const busy = async () => {
        const before = service.cpuSeconds();
        await pause(2000);
        return service.cpuSeconds() - before;
      };
      const before = await busy();
      const head = block(headersOf(it, 'attacker'));
      const begun = Buffer.concat([message(SPAN, { length: 1000 })]);
      const cancel = number(8);
      const reset = (i) => {
        const id = 2 * i + 1;
        return Buffer.concat([
          frame(HEADERS, END_HEADERS, id, head),
          ...(i % 2 ? [frame(DATA, 0, id, begun)] : []),
          frame(RST_STREAM, 0, id, cancel),
        ]);
      };
      let left = it.options.isQuick ? 20_000 : 100_000;
      const lane = async () => {
        while (left > 0) {
          const socket = await wire(it);
          const sent = await flood(socket, Math.min(left, 10_000), reset);
          left -= Math.max(sent, 1);
          socket.destroy();
        }
      };
      await Promise.all([...times(10, lane), victimExports(it, 20)]);
      await pause(500);
      const after = await busy();
      it.must(after <= 3 * before + 0.5, `CPU of ${after} s in 2 s after the end`);
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: floods of PING, SETTINGS and other small frames, read and not read',
    isQuick: true,
    answers: ANSWERS,
    deadlineMs: 200_000,
    async attack(it) {
      const count = it.options.isQuick ? 20_000 : 300_000;
      const head = block(headersOf(it, 'attacker'));
      const floods = [
        () => frame(PING, 0, 0, Buffer.alloc(8)),
        () => frame(PING, 1, 0, Buffer.alloc(8)),
        () => frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0xff, 0xff])),
        (i) => frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 1]), number(i % 65_536)])),
        () => frame(WINDOW_UPDATE, 0, 0, number(1)),
        () => frame(DATA, 0, 1),
        () => frame(PRIORITY, 0, 1, Buffer.alloc(5)),
        (i) => frame(PRIORITY, 0, 2 * i + 3, Buffer.alloc(5)),
        () => frame(77, 0, 0, Buffer.alloc(8)),
        () => frame(RST_STREAM, 0, 1, number(8)),
        (i) => frame(GOAWAY, 0, 0, Buffer.concat([number(2 * i), number(0)])),
      ];
      for (const isRead of [true, false])
        await Promise.all([
          ...floods.map(async (part) => {
            const socket = await wire(it);
            socket.write(frame(HEADERS, END_HEADERS, 1, head));
            await flood(socket, count, part, isRead);
            await pause(500);
            socket.destroy();
          }),
          victimExports(it, 10),
        ]);
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: answers that nobody reads, and clients that leave in the middle',
    isQuick: true,
    answers: ANSWERS,
    async attack(it) {
      const head = block(headersOf(it, 'attacker'));
      const whole = message(SPAN);
      const exported = (id) =>
        Buffer.concat([frame(HEADERS, END_HEADERS, id, head), frame(DATA, END_STREAM, id, whole)]);
      const unread = await Promise.all(
        times(4, () => wire(it, Buffer.concat([Buffer.from([0, 4]), number(0)]))),
      );
      await Promise.all(
        unread.map((socket) => flood(socket, 200, (i) => exported(2 * i + 1), false)),
      );
      await victimExports(it, 10);
      for (const socket of unread) socket.destroy();
      // a part of a message, then GOAWAY, a reset, or nothing
      const part = frame(DATA, 0, 1, message(SPAN, { length: 20 * MIB }));
      for (const last of [
        frame(GOAWAY, 0, 0, Buffer.alloc(8)),
        frame(GOAWAY, 0, 0, Buffer.concat([number(1), number(11), Buffer.alloc(16_000)])),
        frame(RST_STREAM, 0, 1, number(0)),
        frame(WINDOW_UPDATE, 0, 1, number(2 ** 31 - 1)),
        frame(WINDOW_UPDATE, 0, 0, number(0)),
        frame(DATA, 0, 3, Buffer.alloc(100)),
        frame(HEADERS, END_HEADERS, 1, head),
        Buffer.alloc(100_000, 0xff),
        Buffer.alloc(0),
      ])
        await many(it.options.isQuick ? 20 : 200, 20, async (i) => {
          const socket = await wire(it);
          socket.write(Buffer.concat([frame(HEADERS, END_HEADERS, 1, head), part, last]));
          await pause(50);
          if (i % 2) socket.end();
          else socket.destroy();
        });
      await mustRecover(it);
    },
  },
  {
    name: 'grpc: HTTP/1, TLS and other bytes on the port, and connections that say nothing',
    isQuick: true,
    answers: ANSWERS,
    async attack(it) {
      const hello = Buffer.concat([
        Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
        Buffer.alloc(508, 1),
      ]);
      const texts = [
        `GET /health HTTP/1.1\r\nhost: x\r\n\r\n`,
        `POST ${EXPORT} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n`,
        hello,
        Buffer.alloc(MIB, 0),
        Buffer.alloc(MIB, 'P'),
        PREFACE.subarray(0, 20),
        Buffer.concat([PREFACE, Buffer.alloc(MIB, 0xff)]),
        Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(6000))]),
        Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), frame(HEADERS, 4, 2, Buffer.alloc(9))]),
        Buffer.concat([
          PREFACE,
          frame(SETTINGS, 0, 0),
          frame(HEADERS, 4, 1, Buffer.alloc(900, 0xff)),
        ]),
      ];
      await many(texts.length * (it.options.isQuick ? 10 : 100), 50, async (i) => {
        const socket = it.open(undefined, it.service.grpcPort);
        socket.write(texts[i % texts.length]);
        await sees(socket, 'close', 300);
        it.must(!socket.seen.includes('"status"'), 'the port of gRPC answered as HTTP');
        socket.destroy();
      });
      times(it.options.isQuick ? 100 : 1000, () => it.open(undefined, it.service.grpcPort));
      await pause(1000);
      await mustRecover(it);
    },
  },
];
