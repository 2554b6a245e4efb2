import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { DataSource } from 'typeorm';
import { createApp } from './app.js';
import type { Config } from '../platform/config/config.js';
import { GrpcDoor } from '../doors/otel/grpc/grpc-door.js';
import { ConnectionsService } from '../platform/operations/connections.service.js';
import { markForOperations } from '../platform/http/ports.js';
import { ReadinessService } from '../platform/operations/readiness.service.js';

/** The port of a connection: `PORT`, `OPERATIONS_PORT` or `OTLP_GRPC_PORT`. */
export type PortKind = 'main' | 'operations' | 'grpc';

/**
 * Answers requests: the app of this process, or the workers that share its port. Its methods are called in this order.
 */
export interface RunningService {
  /** Accepts an unread connection that arrived at the port. */
  accept(socket: Socket, port?: PortKind): void;
  /** Makes `/ready` fail, and each answer close its connection. */
  startDraining(): void;
  /** Resolves when each existing connection has had its last answer, waits for it, or was idle for too long. */
  closeKept(): Promise<void>;
  /** Finishes the requests in progress. No further connection arrives. */
  close(): Promise<void>;
}

export interface ReplaceableService extends RunningService {
  /**
   * Retires a service that another has replaced. No connection arrives any more, and nothing is urgent. Resolves when
   * the last connection has ended: with its next answer, or at its keep-alive timeout.
   */
  retire(): Promise<void>;
}

/** Opens the app over one data source, ready to accept connections. */
export async function openService(
  dataSource: DataSource,
  config: Config,
): Promise<ReplaceableService> {
  const app = await createApp(dataSource, config);
  const server: Server = app.getHttpServer();
  const connections = app.get(ConnectionsService);
  const grpc = new GrpcDoor(server, connections, config.bodyTimeoutSeconds * 1000);
  await app.init();
  // The server has no port of its own. The event starts its search for requests with late headers.
  server.emit('listening');
  return {
    accept(socket, port) {
      if (port === 'grpc') return grpc.accept(socket);
      if (port === 'operations') markForOperations(socket);
      socket.allowHalfOpen = true; // an HTTP server sets this for connections that it accepts itself
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
