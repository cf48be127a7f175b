import type { HTTPRouteFilter, Route } from '../../../src/addons/routes/compile/route.ts';
import { LiveCompilation } from '../../../src/addons/routes/delivery/live-compilation.ts';
import { routeSummary } from '../../../src/addons/routes/delivery/resources.ts';
import { Slices } from '../../../src/kube/util/slices.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { times } from '../growth/growing-input.ts';
import { routeFor, serviceAt, servicesOf } from './routes.ts';

/** A program: compiles 500 routes as a leader does, each with all that the CRD and etcd allow, and one honest route. */

const ROUTES = 500;
const services = servicesOf([
  ...times(32, (index) => serviceAt(`tenant/web${index}`, `10.96.0.${index}`)),
  serviceAt('honest/web', '10.96.1.1'),
]);

const set = (count: number, value: string): readonly HTTPRouteFilter[] => [
  {
    type: 'RequestHeaderModifier',
    requestHeaderModifier: { set: times(count, (index) => ({ name: `h${index}`, value })) },
  },
];

/** The text of a route, as the API server sends it. Every second one is short, and only its products are long. */
function hostile(index: number): string {
  const isLong = index % 2 === 0;
  const rules = times(16, (rule) => ({
    matches: times(8, (match) => ({
      path: { type: 'RegularExpression' as const, value: `/${index}/${rule}/${match}(a|b)?.{99}` },
      ...(isLong && {
        headers: times(16, (header) => ({
          name: `h${header}`,
          type: 'RegularExpression' as const,
          value: `${index}${header}`.padEnd(500, '(a|.)?'),
        })),
      }),
    })),
    ...(isLong && { filters: set(2, '%'.repeat(4095)) }),
    backendRefs: times(16, (backend) => ({
      name: `web${backend}`,
      port: 80,
      ...(isLong && { filters: set(16, '%'.repeat(100)) }),
    })),
  }));
  const route = routeFor(`tenant/r${index}`, 'tenant/web0', rules);
  const parentRefs = times(32, (service) => ({ group: '', kind: 'Service', name: `web${service}` }));
  return JSON.stringify({ ...route, spec: { ...route.spec, parentRefs } });
}

const routes: Route[] = [];
for (let index = 0; index < ROUTES; index += 1) routes.push(routeSummary(JSON.parse(hostile(index))));
const backendRefs = [{ name: 'web', port: 80 }];
routes.push(routeSummary(routeFor('honest/r', 'honest/web', [{ backendRefs }])));
const live = new LiveCompilation({
  routes: { list: () => routes },
  services,
  grants: { list: () => [] },
  progress: { compiled: () => undefined },
  slices: new Slices(systemClock),
  namespaces: () => ['tenant', 'honest', 'client'],
});
const compilation = await live.get();
const leftOut = [...compilation.routes.values()].filter(({ attachments }) =>
  attachments.every((each) => 'missing' in each && each.reason === 'RoutesTooLarge'),
);
console.log(
  JSON.stringify({
    leftOut: leftOut.length,
    hosts: compilation.ports('client').map(({ service }) => service),
  }),
);
