import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import { parentsOf } from '../../../src/addons/routes/compile/status.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { routeFor, servicesOf } from '../../support/routing/routes.ts';
import { RoutingLab } from '../../support/routing/routing-lab.ts';

/** What others found wrong with themselves. Shares and weights of 0 are in routing.test.ts and grpc.test.ts. */
describeWithEnvoy('odd routes in a real Envoy', (envoy) => {
  let lab: RoutingLab;

  beforeAll(async () => {
    lab = await RoutingLab.start(envoy);
  });

  afterAll(async () => {
    await lab?.stop();
  });

  const at = (number: number) => `::ffff:127.0.1.${number}`;
  const ask = async (number: number) => {
    const { status, seen } = await lab.ask(`127.0.1.${number}:${lab.port}`);
    return seen?.at ?? status;
  };
  const to = (name: string, namespace = 'shop') => ({ backendRefs: [{ name, namespace, port: lab.port }] });

  test('a parent is named by the name of its port', async () => {
    const ports = [
      { port: lab.port, name: 'web' },
      { port: 1, name: 'admin' },
    ];
    const service = lab.service('shop', 'echo', 1);
    const services = servicesOf([
      { ...service, spec: { ...service.spec, ports } },
      lab.service('shop', 'v2', 2),
    ]);
    for (const [sectionName, expected] of [
      ['web', at(2)],
      ['admin', at(1)],
      ['none', at(1)],
    ] as const) {
      const route = routeFor('shop/r', 'shop/echo', [to('v2')], { sectionName });
      await lab.apply({ routes: [route], services }, 'client');
      expect([sectionName, await ask(1)]).toEqual([sectionName, expected]);
    }
  });

  test('a backend in another namespace gets nothing without a ReferenceGrant', async () => {
    const services = servicesOf([lab.service('shop', 'echo', 1), lab.service('bank', 'v2', 2)]);
    const routes = [routeFor('shop/r', 'shop/echo', [to('v2', 'bank')])];
    const grant = {
      metadata: { namespace: 'bank', name: 'g' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop' }],
        to: [{ group: '', kind: 'Service', name: 'v2' }],
      },
    };
    await lab.apply({ routes, services }, 'client');
    expect(await ask(1)).toBe(500);
    await lab.apply({ routes, services, grants: [grant] }, 'client');
    expect(await ask(1)).toBe(at(2));
  });

  test('each parent has a status, also one that is headless or does not exist, and the others work', async () => {
    const headless = {
      metadata: { namespace: 'shop', name: 'headless' },
      spec: { clusterIPs: ['None'], ports: [{ port: lab.port }] },
    };
    const services = servicesOf([lab.service('shop', 'echo', 1), lab.service('shop', 'v2', 2), headless]);
    const route = routeFor('shop/r', 'shop/echo', [to('v2')]);
    const parentRefs = ['headless', 'gone', 'echo'].map((name) => ({ group: '', kind: 'Service', name }));
    const input = { routes: [{ ...route, spec: { ...route.spec, parentRefs } }], services };
    await lab.apply(input, 'client');
    expect(await ask(1)).toBe(at(2));
    const compiled = compileRoutes(input).routes.get('shop/r');
    const parents = compiled ? parentsOf(compiled) : [];
    const said = parents.map(({ parentRef, conditions: [accepted] }) => [
      parentRef.name,
      accepted?.type,
      accepted?.status,
      accepted?.reason,
    ]);
    expect(said).toEqual([
      ['headless', 'Accepted', 'False', 'NoMatchingParent'],
      ['gone', 'Accepted', 'False', 'NoMatchingParent'],
      ['echo', 'Accepted', 'True', 'Accepted'],
    ]);
  });

  test('the longest names, and those with dots, work', async () => {
    const [namespace, parent, backend] = ['n'.repeat(63), 's'.repeat(63), `${'0-'.repeat(31)}0`];
    const name = `${'a.b-c.'.repeat(42)}d`;
    const services = servicesOf([lab.service(namespace, parent, 1), lab.service(namespace, backend, 2)]);
    const key = `${namespace}/${name}`;
    const routes = [routeFor(key, `${namespace}/${parent}`, [to(backend, namespace)])];
    const { text } = await lab.apply({ routes, services }, 'client');
    expect(text).toContain(`${key} rules[0]`);
    expect([name.length, await ask(1)]).toEqual([253, at(2)]);
  });
});
