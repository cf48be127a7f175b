import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { READINESS_PORT } from '../../../src/injection/envoy/files.ts';
import { parseTemplate } from '../../../src/injection/template/parse-template.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { own } from '../../../src/util/json.ts';
import { eventually } from '../../env/eventually.ts';
import { times } from '../../support/growth/growing-input.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { ENVOY_CONFIGURATIONS } from '../../support/routing/envoy-configurations.ts';
import { startEnvoy } from '../../support/routing/envoy-process.ts';

/** RFC 9113, 4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const [HEADERS, SETTINGS, END_HEADERS] = [1, 4, 4];
/** `:method: POST`, `:path: /`, `:scheme: http` of HPACK's own table. */
const REQUEST = Buffer.of(0x83, 0x84, 0x86);
const LONG = 3900;
/** `:authority: a` and `x: xxx…`, which get the numbers 63 and 62 of the table. RFC 7541, 5.1: a length beyond 127. */
const NAMED = Buffer.concat([
  ...[REQUEST, Buffer.of(0x41, 1), Buffer.from('a'), Buffer.of(0x40, 1), Buffer.from('x')],
  ...[Buffer.of(127, ((LONG - 127) % 128) + 128, Math.floor((LONG - 127) / 128)), Buffer.alloc(LONG, 'x')],
]);
/** The same header fourteen times, by its number: 18 bytes on the wire, 55 kB for who takes them. */
const REPEATED = Buffer.concat([REQUEST, Buffer.of(0x80 | 63), Buffer.alloc(14, 0x80 | 62)]);
const AT_ONCE = 100;

/** Opens streams of HTTP/2 that never end, whatever the server says, until it closes the connection or `streams` are open. */
async function floodStreams(port: number, streams: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  const isClosed = new Promise((resolve) => socket.once('close', resolve));
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([preface, frame(SETTINGS, 0, 0, Buffer.alloc(0))]));
  socket.write(frame(HEADERS, END_HEADERS, 1, NAMED));
  for (let opened = 1; opened < streams && !socket.destroyed; opened += AT_ONCE) {
    const part = Array.from({ length: AT_ONCE }, (_, i) =>
      frame(HEADERS, END_HEADERS, 2 * (opened + i) + 1, REPEATED),
    );
    const isTaken = new Promise((resolve) => socket.write(Buffer.concat(part), resolve));
    await Promise.race([isTaken, isClosed]);
  }
  return socket;
}

/** The memory limit of the default template, in MiB. */
function limit(): number {
  const parsed = parseTemplate('config', 'config', DEFAULT_TEMPLATE_YAML);
  const [envoy] = 'template' in parsed ? parsed.template.containers : [];
  return Number.parseInt(String(own(own(own(envoy, 'resources'), 'limits'), 'memory')), 10);
}

describeWithEnvoy('stream flood', (envoy) => {
  test('a sidecar whose client opens streams without end stays below its memory limit, and is Ready again', async () => {
    const silent = createServer({ settings: { maxConcurrentStreams: 2 ** 31 } });
    // Connections end in any way.
    for (const event of ['sessionError', 'session', 'stream'] as const) {
      silent.on(event, (what: NodeJS.EventEmitter) => what.on?.('error', () => {}));
    }
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const to = `{"address":"127.0.0.1","port_value":${(silent.address() as AddressInfo).port}}`;
    const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS['envoy.json'] ?? {}, {
      '{"address":"127.0.0.1","port_value":8080}': to,
    });
    const statistic = async (name: string) => {
      const text = await (await fetch(`${proxy.url(9901)}/stats?filter=${name}`)).text();
      return Number(/: (\d+)/.exec(text)?.[1]);
    };
    try {
      const port = Number(new URL(proxy.url(80)).port);
      const flood = await Promise.all(times(30, () => floodStreams(port, 2000)));
      // Without limits, they take 2.3 GiB.
      await eventually(
        'thousands of streams are open',
        async () => (await statistic('http.http.downstream_rq_total')) > 2000,
      );
      for (const socket of flood) socket.destroy();
      await eventually('it is ready', async () => (await fetch(`${proxy.url(READINESS_PORT)}/ready`)).ok);
      const [, peak] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${proxy.pid}/status`, 'utf8')) ?? [];
      expect(limit()).toBe(512);
      expect(Number(peak) / 1024).toBeLessThan(limit());
    } finally {
      await proxy.stop();
      silent.close();
    }
  });
});
