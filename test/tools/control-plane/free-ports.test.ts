import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { freePorts } from '../../env/control-plane/free-ports.ts';

test('free ports are as many as asked for, different, and can be listened on', async () => {
  const ports = await freePorts(5);
  expect(new Set(ports).size).toBe(5);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});

test('a port in use is not free', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  expect(address).not.toBeNull();
  expect(await freePorts(20)).not.toContain(typeof address === 'object' ? address?.port : undefined);
  server.close();
});
