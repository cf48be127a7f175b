import { once } from 'node:events';
import type { Server } from 'node:http';

/** Resolves once the server listens; rejects with its error if it cannot listen. */
export async function listen(server: Server, port: number): Promise<void> {
  server.listen(port);
  await once(server, 'listening');
}
