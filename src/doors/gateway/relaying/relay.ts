import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyReservation } from '../../../platform/http/body-budget.js';
import { UNREAD_SECONDS } from '../../../platform/http/context.js';
import type { ModelProvider } from '../../../platform/config/gateway-settings.js';
import type { SecretRedactor } from './secret-redactor.js';
import type { StreamTransform } from './event-stream.js';
import { ChunkBuffer } from './chunk-buffer.js';
import type { StreamReader } from '../recording/recorded-answer.js';

/** Interval at which the relay checks that the client's key is still valid. */
const CHECK_MS = 2000;
/** Memory is reserved in steps of this size. An answer is held three times: as bytes, as text and as stored values. */
const STEP_BYTES = 256 * 1024;
const ANSWER_WEIGHT = 3;

export interface RelayResult {
  /** All bytes that arrived, with the key redacted; null when there was no memory to keep them. */
  bytes: Buffer | null;
  /** Why the answer is incomplete; null when it is complete. */
  fault: string | null;
  clientLeft: boolean;
}

export interface RelayOptions {
  provider: ModelProvider;
  maxBytes: number;
  redactor: SecretRedactor;
  /** Transforms a stream for the client. An answer without it is sent as a whole. */
  transform?: StreamTransform;
  /** Reads the bytes after they were sent to the client. */
  reader?: StreamReader | null;
  hold: BodyReservation;
  /** True when an answer that does not fit into memory is relayed without being kept. */
  mayForget: boolean;
  assertValid: () => Promise<void>;
}

/**
 * Receives the answer of a provider and keeps it for the record. A stream is relayed to the client as it arrives. A
 * client that reads slowly slows the provider down. When the client, the key, a limit or silence ends the relay early,
 * the provider's answer is aborted too. Never rejects.
 */
export function relay(
  upstream: IncomingMessage,
  response: ServerResponse,
  { provider, maxBytes, redactor, transform, reader, hold, mayForget, assertValid }: RelayOptions,
): Promise<RelayResult> {
  return new Promise((resolve) => {
    const kept = new ChunkBuffer();
    let isKept = true;
    let [bytes, held] = [0, 0];
    let hasEnded = false;
    const waits = new Set<'client' | 'memory'>();

    const end = (fault: string | null, clientLeft = false) => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(silence);
      clearTimeout(unread);
      clearInterval(checks);
      response.off('close', onClose);
      response.off('drain', onDrain);
      if (fault !== null) upstream.destroy();
      resolve({ bytes: isKept ? kept.take() : null, fault, clientLeft });
    };
    const wait = (what: 'client' | 'memory') => {
      waits.add(what);
      upstream.pause();
      if (what === 'client') unread = setTimeout(onUnread, UNREAD_SECONDS * 1000);
    };
    const goOn = (what: 'client' | 'memory') => {
      if (!waits.delete(what)) return;
      if (what === 'client') clearTimeout(unread);
      if (waits.size > 0 || hasEnded) return;
      silence.refresh();
      upstream.resume();
    };

    const onUnread = () => end(`the client read nothing for ${UNREAD_SECONDS} s`, true);
    const onSilence = () => {
      if (waits.size > 0) silence.refresh();
      else end(`the provider ${provider.name} sent nothing for too long`);
    };
    let unread: NodeJS.Timeout | undefined;
    let silence = setTimeout(onSilence, provider.firstByteSeconds * 1000);
    const checks = setInterval(() => {
      assertValid().catch((error: Error) => end(error.message));
    }, CHECK_MS);
    const onClose = () => {
      if (!response.writableFinished) end('the client left before the answer had ended', true);
    };
    const onDrain = () => goOn('client');

    const keep = (chunk: Buffer) => {
      if (!isKept) return;
      kept.add(chunk);
      if (reader) process.nextTick(() => reader.add(chunk)); // after the bytes were sent to the client
      if (bytes <= held) return;
      held = bytes + STEP_BYTES;
      const waiting = hold.add(STEP_BYTES * ANSWER_WEIGHT);
      if (!waiting) return;
      wait('memory');
      waiting.then(
        () => goOn('memory'),
        (error: Error) => {
          if (!mayForget) return end(error.message);
          isKept = false;
          kept.take();
          goOn('memory');
        },
      );
    };

    const goOnWith = (chunk: Buffer) => {
      if (chunk.length === 0 || hasEnded) return;
      bytes += chunk.length;
      if (bytes > maxBytes)
        return end(`the answer of the provider ${provider.name} has over ${maxBytes} bytes`);
      const passing = transform?.pass(chunk);
      if (passing && passing.length > 0 && !response.write(passing)) wait('client');
      keep(chunk);
    };

    /** Chunks that arrived in one packet are relayed together: engines send each token as a chunk of its own. */
    let batch: Buffer[] = [];
    let hasBegun = false;
    const flush = () => {
      if (batch.length === 0 || hasEnded) return;
      const chunk = batch.length === 1 ? batch[0]! : Buffer.concat(batch);
      batch = [];
      if (!hasBegun) {
        hasBegun = true;
        clearTimeout(silence);
        silence = setTimeout(onSilence, provider.idleSeconds * 1000);
      } else silence.refresh();
      goOnWith(redactor.pass(chunk));
    };
    // with `readable`, bytes that arrive just before a broken connection would be lost
    upstream.on('data', (chunk: Buffer) => {
      if (batch.push(chunk) === 1) process.nextTick(flush);
    });
    upstream.once('end', () => {
      flush();
      goOnWith(redactor.rest());
      end(null);
    });
    upstream.once('error', () => end(`the provider ${provider.name} broke off its answer`));
    upstream.once('close', () => end(`the provider ${provider.name} broke off its answer`));
    response.on('close', onClose);
    response.on('drain', onDrain);
    if (response.destroyed) onClose();
    else if (upstream.destroyed) {
      // the connection broke before the listeners were added: the bytes are still in its buffer
      const came = upstream.read() as Buffer | null;
      if (came) goOnWith(redactor.pass(came));
      process.nextTick(() => end(`the provider ${provider.name} broke off its answer`)); // after `reader.add`
    }
  });
}
