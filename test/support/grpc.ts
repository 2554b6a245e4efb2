import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Client, credentials, type Metadata, type ServiceError } from '@grpc/grpc-js';
import { GrpcDoor } from '../../src/doors/otel/grpc/grpc-door.js';
import { ConnectionsService } from '../../src/platform/operations/connections.service.js';
import type { TestApp } from './app.js';

/** Makes the app accept OTLP over gRPC, as `openService` does. */
export async function listenForGrpc({ app }: TestApp, firstMs = 60_000) {
  const door = new GrpcDoor(app.getHttpServer(), app.get(ConnectionsService), firstMs);
  const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) =>
    door.accept(socket),
  );
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  return {
    door,
    port,
    address: `127.0.0.1:${port}`,
    async close() {
      listener.close();
      await door.close();
    },
  };
}

export type GrpcAnswer = { code: number; details: string; metadata: Metadata; body?: Buffer };

const same = (bytes: Buffer) => bytes;

/** A client of the gRPC library that sends bytes unchanged. */
export function grpcClient(address: string) {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_send_message_length': -1,
  });
  return {
    export: (
      signal: 'Trace' | 'Logs' | 'Metrics',
      bytes: Uint8Array,
      metadata: Metadata,
      options = {},
    ) =>
      new Promise<GrpcAnswer>((resolve) => {
        const path = `/opentelemetry.proto.collector.${signal.toLowerCase()}.v1.${signal}Service/Export`;
        const done = (error: ServiceError | null, body?: Buffer) =>
          resolve(
            error
              ? { code: error.code, details: error.details, metadata: error.metadata }
              : { code: 0, details: '', metadata, body: body! },
          );
        client.makeUnaryRequest(path, same, same, Buffer.from(bytes), metadata, options, done);
      }),
    close: () => client.close(),
  };
}
