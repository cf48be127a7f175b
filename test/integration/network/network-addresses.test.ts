import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import {
  ASKED,
  MULTUS,
  NetworkWorld,
  networkOf,
  podOn as pod,
  refusal,
} from '../../support/network/network-world.ts';

jest.setTimeout(90_000);

let world: NetworkWorld;
const kubectl: NetworkWorld['run'] = (...args) => world.run(...args);
const ready: NetworkWorld['ready'] = (...args) => world.ready(...args);

beforeAll(async () => {
  world = await NetworkWorld.start({ args: ['--shared-network-namespaces=default'] });
}, 600_000);

afterAll(() => world?.stop());

/** Resolves with Multus' annotation when the pod has no gate and an address on each network. */
async function addressed(name: string): Promise<string> {
  let text = '';
  await eventually(`addresses of ${name}`, async () => {
    const { metadata, spec } = await world.pod(name);
    text = metadata.annotations?.[MULTUS] ?? '';
    return !spec.schedulingGates?.length && text.includes('"ips"');
  });
  return text;
}

/** The first address of the pod. */
async function addressOf(name: string): Promise<string> {
  const [first] = JSON.parse(await addressed(name)) as readonly { readonly ips: readonly string[] }[];
  return first?.ips[0] ?? '';
}

const asJson = (name: string, options: object) => JSON.stringify([{ name, ...options }]);

test('a pod gets its address with the patch that lifts its gate, and the rest of its annotation stays', async () => {
  const n = await ready('plain');
  await world.apply(pod('plain', { asked: 'plain@nw0' }));
  expect(await addressed('plain')).toBe(`[{"name":"plain","interface":"nw0","ips":["10.${n}.0.2/24"]}]`);
  await world.apply(pod('json', { asked: asJson('plain', { mac: '02:00:00:00:00:07' }) }));
  expect(await addressed('json')).toBe(
    `[{"name":"plain","mac":"02:00:00:00:00:07","ips":["10.${n}.0.3/24"]}]`,
  );
  expect(await kubectl('get pod json -o jsonpath={.metadata.managedFields[*].manager}')).toContain(
    'envoy-initializer',
  );
});

test('a pod gets an address of each family, and none that is excluded', async () => {
  const secondary = { cidr: 'fd00:60::/64', gateway: 'fd00:60::1' };
  const exclude = ['10.240.0.0/28', 'fd00:60::/124'];
  await world.apply(networkOf('dual', '10.240.0.0/24', { secondary, exclude }));
  await kubectl('wait network/dual --for=condition=Ready --timeout=20s');
  await world.apply(pod('dual', { asked: 'dual' }));
  expect(await addressed('dual')).toBe('[{"name":"dual","ips":["10.240.0.16/24","fd00:60::10/64"]}]');
  expect(await kubectl('get network dual -o jsonpath={.status.capacity.total}')).toBe('239');
});

test('a pod without a gate, which names its node or Multus alone, gets its address too', async () => {
  await ready('ungated');
  await world.apply(pod('bound', { asked: 'ungated', nodeName: 'n1' }));
  await world.apply(pod('bare', { multus: 'ungated', nodeName: 'n1' }));
  expect(await addressOf('bound')).not.toBe(await addressOf('bare'));
});

test('each pod gets an address of its own, whoever leads, also from an operator that was killed', async () => {
  await ready('led');
  const pods = (from: string) => ['1', '2', '3'].map((each) => `${from}${each}`);
  await world.apply(...pods('before').map((name) => pod(name, { asked: 'led' })));
  await Promise.all(pods('before').map(addressOf));
  await world.restart();
  await world.apply(...pods('after').map((name) => pod(name, { asked: 'led' })));
  const addresses = await Promise.all([...pods('before'), ...pods('after')].map(addressOf));
  expect(new Set(addresses).size).toBe(6);
});

test("a pod that asks for another pod's address waits until that one is gone, and nobody gets it first", async () => {
  const n = await ready('taken', 29);
  const ip = `10.${n}.0.2`;
  await world.apply(pod('first', { asked: asJson('taken', { ips: [`${ip}/29`] }) }));
  expect(await addressOf('first')).toBe(`${ip}/29`);
  await world.apply(pod('second', { asked: asJson('taken', { ips: [ip] }) }));
  await world.untilEvent(
    'pod/second',
    'WaitsForNetwork',
    `${ip} of Network default/taken is the address of pod default/first`,
  );
  const rest = ['rest-1', 'rest-2', 'rest-3', 'rest-4'];
  await world.apply(...rest.map((name) => pod(name, { asked: 'taken' })));
  await Promise.all(rest.map(addressOf));
  await world.apply(pod('third', { asked: 'taken' }));
  await world.untilEvent('pod/third', 'AddressesExhausted', '5 of 5 taken');
  await kubectl('delete pod first --now');
  expect(await addressOf('second')).toBe(`${ip}/29`);
  expect((await world.pod('third')).spec.schedulingGates).toHaveLength(1);
});

test('a pod past its gate that asks for the address of an older pod is told so, and counted', async () => {
  const n = await ready('rivals');
  await world.apply(pod('older', { asked: 'rivals' }));
  await addressOf('older');
  const multus = asJson('rivals', { ips: [`10.${n}.0.2/24`] });
  // A second is the unit of the age of objects.
  await eventually('a second passed', async () => {
    const created = await kubectl('get pod older -o jsonpath={.metadata.creationTimestamp}');
    return Date.now() > Date.parse(created) + 1_000;
  });
  await world.apply(pod('younger', { multus, nodeName: 'n1' }));
  await world.untilEvent(
    'pod/younger',
    'AddressTaken',
    `10.${n}.0.2/24 of Network default/rivals is also the address of the older pod default/older`,
  );
  expect(await world.metrics()).toMatch(/^envoy_initializer_network_addresses_taken_total 1$/m);
});

test('a pod waits without a free address, its Network says so, and it gets the next one that is free', async () => {
  const n = await ready('small', 30);
  await world.apply(pod('only', { asked: 'small' }));
  await addressOf('only');
  await world.apply(pod('waiting', { asked: 'small' }));
  await world.untilEvent('pod/waiting', 'AddressesExhausted', '1 of 1 taken');
  const reason = 'jsonpath={.status.conditions[?(@.type=="InUse")].reason}';
  await kubectl(`wait network/small --for=${reason}=AddressesExhausted --timeout=20s`);
  expect(await kubectl('get network small -o jsonpath={.status.capacity}')).toBe('{"allocated":1,"total":1}');
  await kubectl('delete pod only --now');
  expect(await addressOf('waiting')).toBe(`10.${n}.0.2/30`);
});

test.each(['', '--subresource=status'])(
  'a user who may change pods does not change the addresses of one %s',
  async (subresource) => {
    await kubectl('create role pods --verb=get,patch --resource=pods,pods/status').catch(() => undefined);
    await kubectl('create rolebinding pods --role=pods --user=alice').catch(() => undefined);
    await kubectl('get network guarded').catch(() => ready('guarded'));
    const name = `guarded${subresource.replaceAll(/[^a-z]/g, '')}`;
    await world.apply(pod(name, { asked: 'guarded' }));
    await addressed(name);
    const patch = (annotations: object) =>
      world.merge(
        `pod ${name}`,
        { metadata: { annotations } },
        '--as=alice',
        ...[subresource].filter(Boolean),
      );
    expect(await refusal(patch({ [MULTUS]: null }))).toContain('only the operator may change it');
    expect(await refusal(patch({ [MULTUS]: 'guarded', [ASKED]: null }))).toContain(
      'only the operator may change it',
    );
    await patch({ 'example.com/note': 'mine' });
  },
);

const service = (name: string, annotations: object, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, annotations },
  spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80, targetPort: 8080 }], ...spec },
});
interface Slice {
  readonly addressType: string;
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly hostname?: string;
    readonly conditions: { readonly ready: boolean };
  }[];
  readonly ports: readonly object[];
}
const slicesOf = async (name: string) => {
  const text = await kubectl(`get endpointslices -l kubernetes.io/service-name=${name} -o json`);
  return (JSON.parse(text) as { readonly items: readonly Slice[] }).items;
};
/** `ADDRESS HOSTNAME READY` of all endpoints. */
const namesOf = async (name: string) =>
  (await slicesOf(name)).flatMap(({ endpoints }) =>
    endpoints.map(
      ({ addresses, hostname, conditions }) => `${addresses.join()} ${hostname} ${conditions.ready}`,
    ),
  );
const untilNames = (name: string, names: readonly string[]) =>
  eventually(
    `endpoints of ${name} to be ${names}`,
    async () => (await namesOf(name)).join() === names.join(),
  );

test('a headless Service without a selector names the pods it selects, by their addresses on the Network', async () => {
  const secondary = { cidr: 'fd00:61::/64', gateway: 'fd00:61::1' };
  const n = await ready('named', 24, { secondary });
  await world.apply(service('web', { [ASKED]: 'named', 'samplecrd.k8s.io/selector': 'app=web' }));
  const web = { metadata: { labels: { app: 'web' } } };
  const annotated = (name: string, labels: object) =>
    pod(name, { metadata: { labels, annotations: { [ASKED]: 'named' } }, spec: { hostname: name } });
  await world.apply(annotated('web-0', web.metadata.labels));
  await addressOf('web-0');
  await world.apply(annotated('db-0', { app: 'db' }));
  await untilNames('web', [`10.${n}.0.2 web-0 false`, 'fd00:61::2 web-0 false']);
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  await world.merge('pod web-0', { status }, '--subresource=status');
  await untilNames('web', [`10.${n}.0.2 web-0 true`, 'fd00:61::2 web-0 true']);
  expect((await slicesOf('web')).map(({ addressType, ports }) => [addressType, ports])).toEqual([
    ['IPv4', [{ name: 'http', port: 8080, protocol: 'TCP' }]],
    ['IPv6', [{ name: 'http', port: 8080, protocol: 'TCP' }]],
  ]);
  await kubectl('label pod db-0 --overwrite app=web');
  await eventually('two pods', async () => (await namesOf('web')).length === 4);
  await kubectl('delete pod web-0 db-0 --now');
  await untilNames('web', []);
});

test('a headless Service names no address outside of the Network or its namespace, whatever annotations of pods say', async () => {
  const n = await ready('bounded');
  await world.apply(service('bounded', { [ASKED]: 'bounded', 'samplecrd.k8s.io/selector': 'app=liar' }));
  // The API server refuses a slice with an address in another form.
  const ips = [
    `::ffff:10.${n}.0.9`,
    `10.${n}.0.011`,
    '10.96.0.1',
    '203.0.113.7',
    'fd00::7',
    `10.${n}.0.1`,
    `10.${n}.0.9`,
  ];
  const liar = (of: readonly string[], namespace = 'default') => {
    const reported = JSON.stringify([{ name: 'default/bounded', ips: of }]);
    const annotations = { 'k8s.v1.cni.cncf.io/network-status': reported };
    return pod('liar', { metadata: { namespace, labels: { app: 'liar' }, annotations } });
  };
  await kubectl('create namespace stranger');
  await kubectl('wait serviceaccount/default --for=create -n stranger --timeout=30s');
  await world.apply(liar([`10.${n}.0.8`], 'stranger'));
  await world.apply(liar(ips));
  await untilNames('bounded', [`10.${n}.0.9 undefined false`]);
});

test('a headless Service without a selector says that its Network does not exist', async () => {
  await world.apply(service('early', { [ASKED]: 'nowhere', 'samplecrd.k8s.io/selector': 'app=web' }));
  await world.untilEvent('service/early', 'WaitsForNetwork', 'Network default/nowhere does not exist');
});

test('a headless Service loses its slices with its annotation, and gets back what another client takes', async () => {
  await world.apply(service('kept', { [ASKED]: 'named', 'samplecrd.k8s.io/selector': 'app=kept' }));
  await world.apply(
    pod('kept', { metadata: { labels: { app: 'kept' }, annotations: { [ASKED]: 'named' } } }),
  );
  await eventually('endpoints', async () => (await namesOf('kept')).length === 2);
  await kubectl('delete endpointslices -l kubernetes.io/service-name=kept');
  await eventually('endpoints again', async () => (await namesOf('kept')).length === 2);
  await kubectl(`annotate service kept ${ASKED}-`);
  await untilNames('kept', []);
});
