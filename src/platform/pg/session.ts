import type { ClientBase } from 'pg';
import { socketOf } from './raw-row-reader.js';

/**
 * Returns a function that prepares a new connection for use. Settings are set by a statement and read back, because
 * poolers drop settings in the start-up message. The function throws when the server does not accept a setting.
 */
export const beginSession = (settings: Record<string, string>) => async (client: ClientBase) => {
  guardParser(client);
  const { rows } = await client.query<{ name: string; wanted: string; given: string }>(
    `SELECT name, wanted, set_config(name, wanted, false) AS given
     FROM unnest($1::text[], $2::text[]) AS s(name, wanted)`,
    [Object.keys(settings), Object.values(settings)],
  );
  const refused = rows.find(({ wanted, given }) => wanted !== given);
  if (refused)
    throw new Error(
      `the database set ${refused.name} to "${refused.given}" instead of "${refused.wanted}"`,
    );
};

/**
 * Closes the connection when pg's parser throws. pg makes a string of each value as it arrives, and a value of 512 MiB
 * does not fit into a string. Without this guard the error would end the process.
 */
function guardParser(client: ClientBase): void {
  const { socket, parse } = socketOf(client);
  socket.off('data', parse).on('data', (bytes: Buffer) => {
    try {
      parse(bytes);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
}
