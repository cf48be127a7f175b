import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
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
import { floodStreams } from '../../support/routing/stream-flood.ts';

/** The memory limit of the default template, in MiB. */
function limit(): number {
  const parsed = parseTemplate('config', 'config', DEFAULT_TEMPLATE_YAML);
  const [envoy] = 'template' in parsed ? parsed.template.containers : [];
  return Number.parseInt(String(own(own(own(envoy, 'resources'), 'limits'), 'memory')), 10);
}

describeWithEnvoy('a sidecar whose client opens streams without end', (envoy) => {
  test('stays below the memory limit of its template, and is Ready again afterwards', async () => {
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
