import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { DataSource } from 'typeorm';
import { createApp } from './app.js';
import type { Config } from '../platform/config/config.js';
import { GrpcDoor } from '../doors/otel/grpc/grpc-door.js';
import { ConnectionsService } from '../platform/operations/connections.service.js';
import { markForOperations } from '../platform/http/ports.js';
import { ReadinessService } from '../platform/operations/readiness.service.js';

/** `PORT`, `OPERATIONS_PORT` and `OTLP_GRPC_PORT`. */
export type PortKind = 'main' | 'operations' | 'grpc';

/** What answers requests: the app of this process, or the workers that share its port. Its methods are called in this order. */
export interface RunningService {
  /** Takes a connection that nothing was read from, by the port that it came to. */
  accept(socket: Socket, port?: PortKind): void;
  /** From now on `/ready` says no, and each answer closes its connection. */
  startDraining(): void;
  /** Resolves when the connections of before have had their last answer, await it, or were idle for too long. */
  closeKept(): Promise<void>;
  /** Finishes the requests under way. No further connection comes. */
  close(): Promise<void>;
}

export interface ReplaceableService extends RunningService {
  /**
   * For one that another has taken the place of, so that no connection comes any more and there is no hurry. Resolves when
   * the last one has ended: by its next answer, or of itself when it is idle for as long as clients are told.
   */
  retire(): Promise<void>;
}

/** The app over one data source, ready to take connections. */
export async function openService(
  dataSource: DataSource,
  config: Config,
): Promise<ReplaceableService> {
  const app = await createApp(dataSource, config);
  const server: Server = app.getHttpServer();
  const connections = app.get(ConnectionsService);
  const grpc = new GrpcDoor(server, connections, config.bodyTimeoutSeconds * 1000);
  await app.init();
  // It has no port of its own. The event starts its search for requests whose head is late.
  server.emit('listening');
  return {
    accept(socket, port) {
      if (port === 'grpc') return grpc.accept(socket);
      if (port === 'operations') markForOperations(socket);
      socket.allowHalfOpen = true; // as for the connections that an HTTP server takes itself
      server.emit('connection', socket);
      socket.resume();
    },
    startDraining() {
      app.get(ReadinessService).startDraining();
      grpc.startDraining();
    },
    closeKept: () => connections.closeKept(),
    retire: async () => void (await Promise.all([grpc.retire(), connections.retire()])),
    // long polls, then requests, then the write queue, then the pool
    close: async () => void (await Promise.all([grpc.close(), app.close()])),
  };
}
