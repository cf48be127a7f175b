import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GRPCRouteRule } from '../../../src/addons/routes/compile/route.ts';
import { eventually } from '../../env/eventually.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { call, GrpcServer } from '../../support/routing/grpc-calls.ts';
import { grpcRouteFor, routeFor, servicesOf } from '../../support/routing/routes.ts';
import { RoutingLab } from '../../support/routing/routing-lab.ts';

const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

describeWithEnvoy('gRPC', (envoy) => {
  let lab: RoutingLab;
  let server: GrpcServer;

  beforeAll(async () => {
    lab = await RoutingLab.start(envoy);
    server = await GrpcServer.start();
  });

  afterAll(async () => {
    server?.stop();
    await lab?.stop();
  });

  const at = (number: number) => `::ffff:127.0.1.${number}`;
  const to = (name: string, more: object = {}) => ({
    name,
    port: name === 'dead' ? 1 : server.port,
    ...more,
  });
  const services = () =>
    servicesOf([
      ...['echo', 'v2', 'v3', 'v4'].map((name, index) => lab.service('shop', name, index + 1, server.port)),
      lab.service('shop', 'dead', 9, 1),
    ]);
  const apply = (...rules: readonly GRPCRouteRule[]) =>
    lab.apply({ routes: [grpcRouteFor('shop/r', 'shop/echo', rules)], services: services() }, 'client');
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    call(await lab.connect(`127.0.1.1:${server.port}`), path, headers);

  // biome-ignore format: a line for each case
  test.each([
    [{}, ['/a.B/C', '/d/E'], []],
    [{ method: { service: 'a.B', method: 'C' } }, ['/a.B/C'], ['/a.B/D', '/a.B/CD', '/xa.B/C', '/a.b/C']],
    [{ method: { service: 'a.B' } }, ['/a.B/C', '/a.B/D'], ['/a.BC/C', '/a.C/B']],
    [{ method: { method: 'C' } }, ['/a.B/C', '/d/C'], ['/d/CD', '/C/d']],
    [{ method: { type: 'RegularExpression' as const, service: 'a\\.[A-C]', method: 'C|D' } }, ['/a.B/C', '/a.C/D'], ['/axB/C', '/a.B/E', '/a.D/C']],
    [{ method: { type: 'RegularExpression' as const, method: 'Get.+' } }, ['/a.B/GetC'], ['/a.B/Get', '/GetC/a']],
    [{ headers: [{ name: 'Version', value: '2' }] }, [], ['/a.B/C']],
  ])('the match %j of a GRPCRoute takes %j, and not %j', async (match, taken, left) => {
    await apply({ matches: [match], backendRefs: [to('v2')] });
    for (const path of taken) expect(await ask(path)).toMatchObject({ http: 200, status: 0, at: at(2) });
    for (const path of left) expect(await ask(path)).toMatchObject({ http: 200, status: UNIMPLEMENTED });
    expect(await ask(taken[0] ?? '/a.B/C', { version: '2' })).toMatchObject({ status: 0, at: at(2) });
  });

  test('a longer service and method of a GRPCRoute come first, then more headers', async () => {
    await apply(
      { matches: [{}], backendRefs: [to('dead')] },
      { matches: [{ method: { service: 'shop.Cart' } }], backendRefs: [to('v2')] },
      { matches: [{ method: { method: 'AddEverythingAtOnce' } }], backendRefs: [to('v3')] },
      { matches: [{ method: { service: 'shop.Cart', method: 'Add' } }], backendRefs: [to('echo')] },
      {
        matches: [{ method: { service: 'shop.Cart', method: 'Add' }, headers: [{ name: 'v', value: '2' }] }],
        backendRefs: [to('v4')],
      },
    );
    const backend = async (path: string, headers = {}) => (await ask(path, headers)).at;
    expect(await backend('/shop.Cart/Remove')).toBe(at(2));
    expect(await backend('/shop.Cart/Add')).toBe(at(1));
    expect(await backend('/shop.Cart/Add', { v: '2' })).toBe(at(4));
    expect(await backend('/shop.Cart/AddEverythingAtOnce')).toBe(at(2));
    expect(await backend('/shop/AddEverythingAtOnce')).toBe(at(3));
  });

  // What `to` says is known when the server listens.
  test.each<[string, () => GRPCRouteRule]>([
    ['no backend', () => ({})],
    ['backends that do not exist', () => ({ backendRefs: [{ name: 'gone', port: 1 }] })],
    ['weights of 0', () => ({ backendRefs: [to('v2', { weight: 0 })] })],
    ['backends that nobody listens for', () => ({ backendRefs: [to('dead')] })],
    [
      'a filter that is not supported',
      () => ({ filters: [{ type: 'ExtensionRef' }], backendRefs: [to('v2')] }),
    ],
  ])('a rule of a GRPCRoute with %s is UNAVAILABLE', async (_, rule) => {
    await apply(rule());
    expect(await ask('/a.B/C')).toMatchObject({ http: 200, status: UNAVAILABLE });
  });

  test('a GRPCRoute changes headers, of a rule and of a backend', async () => {
    const set = (name: string) => ({ set: [{ name, value: '1' }] });
    await apply({
      filters: [
        { type: 'RequestHeaderModifier', requestHeaderModifier: { ...set('x-rule'), remove: ['x-gone'] } },
        { type: 'ResponseHeaderModifier', responseHeaderModifier: set('x-answer') },
      ],
      backendRefs: [
        to('v2', { filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: set('x-backend') }] }),
      ],
    });
    const { headers } = await ask('/a.B/C', { 'x-gone': '1' });
    expect(headers).toMatchObject({ 'x-answer': '1' });
    const seen = server.calls.at(-1)?.headers;
    expect(seen).toMatchObject({ 'x-rule': '1', 'x-backend': '1' });
    expect(seen).not.toHaveProperty('x-gone');
  });

  test('a stream of gRPC goes on while routes change', async () => {
    await apply({ backendRefs: [to('v2')] });
    const socket = await lab.connect(`127.0.1.1:${server.port}`);
    const first = call(socket, '/a.B/C', { hold: '1' });
    await eventually('the stream is open', async () => server.held.length === 1);
    await apply({ backendRefs: [to('v3')] });
    expect(await ask('/a.B/C')).toMatchObject({ status: 0, at: at(3) });
    server.held.pop()?.();
    expect(await first).toMatchObject({ status: 0, at: at(2) });
  });

  test('a retry of an HTTPRoute is for UNAVAILABLE of gRPC, too', async () => {
    const rule = { retry: { attempts: 2 }, backendRefs: [to('v2')] };
    await lab.apply({ routes: [routeFor('shop/r', 'shop/echo', [rule])], services: services() }, 'client');
    server.statuses.push(UNAVAILABLE, UNAVAILABLE);
    server.calls.splice(0);
    expect(await ask('/a.B/C')).toMatchObject({ status: 0, at: at(2) });
    expect(server.calls).toHaveLength(3);
  });
});
