import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import { ENVOY_FILES } from '../../../src/injection/envoy/configurations.ts';
import { READINESS_PORT } from '../../../src/injection/envoy/parts.ts';
import { ROUTES_DIRECTORY, ROUTES_FILE } from '../../../src/injection/envoy/routed.ts';
import { ensureEnvoy } from '../../env/envoy-binary.ts';
import { eventually } from '../../env/eventually.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';
import { CapturedSpace } from '../../support/routing/captured-space.ts';
import { routeFor, serviceAt, servicesOf } from '../../support/routing/routes.ts';

const services = servicesOf([
  serviceAt('shop/echo', '10.96.0.7', 'fd00::7'),
  serviceAt('shop/v2', '10.96.0.12', 'fd00::12'),
  serviceAt('shop/other', '10.96.0.13', 'fd00::13'),
]);
const addresses = ['10.96.0.7', '10.96.0.12', '10.96.0.13', 'fd00::7', 'fd00::13'];

describeUnless(await CapturedSpace.obstacle(), 'the captured connections of a pod', () => {
  let space: CapturedSpace;
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-captured-'));
    const route = routeFor('shop/r', 'shop/echo', [{ backendRefs: [{ name: 'v2', port: 80 }] }]);
    const { text, version } = compileRoutes({ routes: [route], services }).file('client');
    await writeFile(join(directory, ROUTES_FILE), text);
    const configuration = (ENVOY_FILES['transparent.json'] ?? '')
      .replaceAll(ROUTES_DIRECTORY, directory)
      // The layer of the drain: its directory has to be there, its file not.
      .replaceAll('/etc/envoy/', `${directory}/`);
    await writeFile(join(directory, 'envoy.json'), configuration);
    space = await CapturedSpace.start(addresses);
    const envoy = await ensureEnvoy(process.env, process.stderr);
    const args = [
      '--config-path',
      join(directory, 'envoy.json'),
      '--concurrency',
      '1',
      '--disable-hot-restart',
    ];
    await space.spawn('sh', ['-c', 'echo started; exec "$0" "$@" 2>/dev/null', envoy, ...args]);
    await eventually(
      'Envoy has the routes',
      async () => (await space.get(`http://127.0.0.1:${READINESS_PORT}/routes`)) === version,
    );
  });

  afterAll(async () => {
    await space?.stop();
    await rm(directory, { recursive: true });
  });

  test.each([
    ['http://10.96.0.7/', '10.96.0.12'],
    ['http://[fd00::7]/', '10.96.0.12'],
    ['http://10.96.0.13/', '10.96.0.13'],
    ['http://[fd00::13]/', 'fd00::13'],
  ])('go by routes: %s goes to %s, whatever the client writes', async (url, address) => {
    const forged = '10.96.0.13:80';
    for (const headers of [
      {},
      { host: forged },
      { 'x-envoy-initializer-destination': forged },
      { 'x-envoy-initializer-destination': '10.96.0.7:80' },
      { 'x-envoy-initializer-mirror': forged, 'x-envoy-original-dst-host': forged },
    ]) {
      const { at } = JSON.parse(await space.get(url, headers));
      expect({ headers, at: at.replace('::ffff:', '') }).toEqual({ headers, at: address });
    }
  });
});
