import { compileRoutes } from '../../src/addons/routes/compile/compile.ts';
import type { HTTPRoute } from '../../src/addons/routes/compile/route.ts';
import type { RouteFile } from '../../src/addons/routes/compile/route-configuration.ts';
import { ROUTES_LABEL } from '../../src/addons/routes/delivery/resources.ts';
import { planFile } from '../../src/addons/routes/delivery/route-files.ts';
import { worldNamespace, worldRoute, worldService } from '../support/routing/route-world.ts';
import { servicesOf } from '../support/routing/routes.ts';
import type { Measurement } from './measurement.ts';
import type { BenchSettings } from './settings.ts';
import { summarise } from './statistics.ts';

const SIZE = { routes: 1000, services: 500, namespaces: 100 };
/** Changes in one run. */
const CHANGES = 20;
const BOUND_MS = 50;

/** CPU time of one changed route among 1,000: all is compiled, and the file of each namespace compared with the last one. */
export async function routeBench({ runs }: BenchSettings): Promise<readonly Measurement[]> {
  const services = servicesOf(Array.from({ length: SIZE.services }, (_, i) => worldService(i, SIZE)));
  const routes: HTTPRoute[] = Array.from({ length: SIZE.routes }, (_, i) => worldRoute(i, SIZE));
  const found = new Map<string, RouteFile>();
  const namespaces = Array.from({ length: SIZE.namespaces }, (_, i) => worldNamespace(i));
  /** Which namespaces get another file. */
  const bring = (): readonly (readonly [string, RouteFile])[] => {
    const compilation = compileRoutes({ routes, services });
    return namespaces.flatMap((namespace) => {
      const wanted = compilation.file(namespace);
      const { version } = found.get(namespace) ?? {};
      const metadata = { name: 'envoy-routes', namespace, labels: { [ROUTES_LABEL]: 'envoy-initializer' } };
      const map = { metadata, version, isImmutable: false };
      const isChanged = planFile(wanted.version, map, true) === 'update';
      return isChanged ? [[namespace, wanted] as const] : [];
    });
  };
  const write = (files: ReturnType<typeof bring>) => {
    for (const [namespace, file] of files) found.set(namespace, file);
  };
  write(bring());
  const milliseconds: number[] = [];
  // The first run counts for nothing: V8 compiles.
  for (let run = 0; run <= runs; run++) {
    let spent = 0;
    for (let change = 0; change < CHANGES; change++) {
      const index = (run * CHANGES + change) % SIZE.routes;
      routes[index] = worldRoute(index, SIZE, run + 1);
      const before = process.cpuUsage();
      const files = bring();
      const { user, system } = process.cpuUsage(before);
      spent += (user + system) / 1000;
      write(files);
    }
    milliseconds.push(spent / CHANGES);
  }
  return [
    {
      name: 'one changed route of 1,000, for 100 namespaces',
      unit: 'ms',
      ours: summarise(milliseconds.slice(1)),
      bound: { most: BOUND_MS },
    },
  ];
}
