import { compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import { worldNamespace, worldRoute, worldService } from '../routing/route-world.ts';
import { servicesOf } from '../routing/routes.ts';
import { type GrowingInput, times } from './growing-input.ts';

const NAMESPACES = 5;

/** One route of n has changed: all are compiled, those of before as they are remembered. */
const changed = (name: string, servicesFor: (n: number) => number): GrowingInput => ({
  name: `routes: ${name}`,
  work: (n) => {
    const size = { routes: n, services: servicesFor(n), namespaces: NAMESPACES };
    const services = servicesOf(times(size.services, (i) => worldService(i, size)));
    const routes = times(n, (i) => worldRoute(i, size));
    const compile = () => {
      const { file } = compileRoutes({ routes, services });
      return times(NAMESPACES, (i) => file(worldNamespace(i)).version);
    };
    compile();
    routes[0] = worldRoute(0, size, 1);
    return compile;
  },
});

export const ROUTE_INPUTS: readonly GrowingInput[] = [
  changed('two for each Service', (n) => Math.ceil(n / 2)),
  changed('all for ten Services', () => 10),
];
