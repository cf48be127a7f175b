import { expect, test } from '@jest/globals';
import { loadAll } from 'js-yaml';
import { compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import type { Route, Service } from '../../../src/addons/routes/compile/route.ts';
import { parentsOf } from '../../../src/addons/routes/compile/status.ts';
import { moduleTexts } from '../../env/go/locked-module.ts';
import { pinOf } from '../../env/go/pins.ts';
import { GoldenCase } from '../../support/jest/golden-case.ts';
import { servicesOf } from '../../support/routing/routes.ts';

/** The archive of the conformance suite of the Gateway API: its own manifests are the input. */
const SUITE = {
  ...pinOf('sigs.k8s.io/gateway-api/conformance'),
  lock: 'h1:8Llf3aLHmeuiKA1AolOpeTIp0tmEuo6BSPOmw/w8tnk=',
};
const NAMESPACES = ['gateway-conformance-mesh', 'gateway-conformance-mesh-consumer'];

/** The objects of a kind in a manifest. */
function objectsOf<T>(text: string, ...kinds: readonly string[]): readonly T[] {
  const objects = (loadAll(text) as readonly ({ readonly kind?: string } | null)[]).filter(
    (each) => each !== null,
  );
  return objects.filter(({ kind = '' }) => kinds.includes(kind)) as readonly unknown[] as readonly T[];
}

/** The routes of Services in a file, one a line. The names of backends in it are for the metrics. */
function routesIn(file: string): readonly string[] {
  const hosts: readonly {
    readonly name: string;
    readonly routes: readonly Readonly<Record<string, unknown>>[];
  }[] = JSON.parse(file).resources[0].virtual_hosts;
  return hosts
    .filter(({ name }) => name.includes('/'))
    .flatMap(({ name, routes }) =>
      routes.map(({ metadata: _, name: rule, ...route }) => `${name} ${rule}: ${JSON.stringify(route)}`),
    )
    .map((line) => line.replaceAll('gateway-conformance-mesh/', ''));
}

test('the mesh manifests of the suite get the statuses and the routes that passed it', async () => {
  const base = await moduleTexts(SUITE, 'mesh', process.env);
  const services = servicesOf(
    objectsOf<Service>(base.get('manifests.yaml') ?? '', 'Service').map(({ metadata, spec }, index) => ({
      metadata,
      spec: { ...spec, clusterIPs: [`10.96.0.${index + 1}`] },
    })),
  );
  expect([...services.keys()].sort()).toEqual(
    ['echo', 'echo-v1', 'echo-v2'].map((name) => `gateway-conformance-mesh/${name}`),
  );
  const lines: string[] = [];
  const manifests = await moduleTexts(SUITE, 'tests/mesh', process.env);
  for (const [name, text] of [...manifests].filter(([file]) => file.endsWith('.yaml')).sort()) {
    const compilation = compileRoutes({ routes: objectsOf<Route>(text, 'HTTPRoute', 'GRPCRoute'), services });
    lines.push(`# ${name}`);
    for (const [key, route] of compilation.routes) {
      const said = parentsOf(route).flatMap(({ conditions }) =>
        conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      );
      lines.push(`${key}: ${said.join(', ')}`);
    }
    const [own = [], other = []] = NAMESPACES.map((namespace) => routesIn(compilation.file(namespace).text));
    lines.push(...own);
    if (other.join() !== own.join()) lines.push(`in ${NAMESPACES[1]}:`, ...other);
  }
  const golden = new GoldenCase('mesh-suite', SUITE.version);
  await golden.expect('expected.txt', `${lines.join('\n')}\n`);
  await golden.done();
});
