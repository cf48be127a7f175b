import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runCli } from '../../../src/program.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(120_000);

const PROGRAMMED = 'initializer.kubernetes.io/Programmed';
/** Of the one pod that is said to run: loopback, for no other process. */
const ADDRESS = '127.15.2.1';
const OURS = 'initializer.kubernetes.io/envoy-routes';
let fixture: OperatorFixture;
const kubectl = (line: string) => fixture.kubectl(...line.split(' '));

beforeAll(async () => {
  fixture = await startOperatorFixture();
  const transparent = join(projectDirectory(), 'deploy/transparent');
  await fixture.kubectl('apply', '--server-side', '--force-conflicts', '-k', transparent);
}, 600_000);

afterAll(() => fixture?.stop());

const SPEC = { containers: [{ name: 'app', image: 'app' }] };

const TRANSPARENT = { 'initializer.kubernetes.io/envoy-templates': 'transparent' };
const namespace = (name: string) => fixture.namespace(name, { [OPT_IN]: 'true' }, TRANSPARENT);

const pod = (inNamespace: string) =>
  eventually(`a pod with the template is in ${inNamespace}`, async () => {
    await kubectl(`delete pod a --namespace=${inNamespace} --ignore-not-found --wait=false --force`);
    const metadata = { name: 'a', namespace: inNamespace };
    await fixture.apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec: SPEC });
    return (await kubectl(`get pod a --namespace=${inNamespace} -o yaml`)).includes('envoy-routes');
  });

const service = (name: string, inNamespace: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: inNamespace },
  spec: { ports: [{ port: 80 }], selector: { app: name } },
});

const route = (name: string, inNamespace: string, backend: string, metadata: object = {}) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name, namespace: inNamespace, ...metadata },
  spec: {
    parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
        backendRefs: [{ name: backend, port: 80 }],
      },
    ],
  },
});

const file = async (inNamespace: string): Promise<string> => {
  const stdout = await kubectl(
    `get configmap envoy-routes --namespace=${inNamespace} -o json --ignore-not-found`,
  );
  return stdout === '' ? '' : JSON.parse(stdout).data?.['rds.json'];
};

interface Parent {
  readonly controllerName: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}
const parents = async (name: string, inNamespace: string): Promise<readonly Parent[]> =>
  JSON.parse(await kubectl(`get httproute ${name} --namespace=${inNamespace} -o json`)).status?.parents ?? [];
const condition = async (type: string, name: string, inNamespace: string) =>
  (await parents(name, inNamespace))
    .filter(({ controllerName }) => controllerName === OURS)
    .flatMap(({ conditions }) => conditions)
    .find((each) => each.type === type);

async function cli(...args: readonly string[]) {
  const terminal = new MemoryTerminal({});
  const kubeconfig = ['--kubeconfig', fixture.controlPlane.kubeconfigPath];
  const code = await runCli(['node', 'envoy-initializer', ...args, ...kubeconfig], terminal);
  return { code, text: `${terminal.stdout}${terminal.stderr}` };
}

test('routes are off without the CRD, and on at once with it', async () => {
  await namespace('clients');
  await pod('clients');
  expect(await file('clients')).toBe('');
  await fixture.kubectl('apply', '--server-side', '-k', await httpRouteCrds());
  await eventually('the file is there', async () => (await file('clients')).includes('"domains":["*"]'));
});

test('a route reaches the file of each namespace with clients, and its status says so', async () => {
  await fixture.apply(service('web', 'default'), service('web-2', 'default'));
  await fixture.apply(route('first', 'default', 'web-2'));
  await eventually('the route is in the file', async () => (await file('clients')).includes('/first'));
  await eventually(
    'it is accepted',
    async () => (await condition('Accepted', 'first', 'default'))?.status === 'True',
  );
  expect(await condition(PROGRAMMED, 'first', 'default')).toMatchObject({ message: '0 of 0 sidecars' });
  const events = await kubectl('get events.events.k8s.io --namespace=default -o yaml');
  expect(events).toContain('reason: NoSidecar');
});

test('a backend in another namespace has its share while a ReferenceGrant there allows it', async () => {
  await kubectl('create namespace bank');
  await fixture.apply(service('safe', 'bank'));
  const clusterIP = await kubectl('get service safe --namespace=bank -o jsonpath={.spec.clusterIP}');
  const abroad = route('abroad', 'default', 'safe');
  const backendRefs = [{ name: 'safe', namespace: 'bank', port: 80 }];
  await fixture.apply({ ...abroad, spec: { ...abroad.spec, rules: [{ backendRefs }] } });
  const reason = async () => (await condition('ResolvedRefs', 'abroad', 'default'))?.reason;
  await eventually('it is not permitted', async () => (await reason()) === 'RefNotPermitted');
  expect(await file('clients')).not.toContain(clusterIP);
  await fixture.apply({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'ReferenceGrant',
    metadata: { name: 'default', namespace: 'bank' },
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' }],
      to: [{ group: '', kind: 'Service' }],
    },
  });
  await eventually('it is permitted', async () => (await reason()) === 'ResolvedRefs');
  await eventually('it is in the file', async () => (await file('clients')).includes(clusterIP));
  const checked = (await cli('check', 'httproute/abroad')).text;
  expect(checked).toContain('abroad');
  expect(checked).not.toContain('RefNotPermitted');
  await kubectl('delete referencegrant default --namespace=bank');
  await eventually('it is permitted no more', async () => (await reason()) === 'RefNotPermitted');
  await eventually('it has lost it', async () => !(await file('clients')).includes(clusterIP));
  await kubectl('delete namespace bank --wait=false');
  await kubectl('delete httproute abroad --namespace=default');
});

test('a foreign edit and a deletion of the file of routes are repaired', async () => {
  const isThere = async () => (await file('clients')).includes('/first');
  // Without the policy that refuses both.
  await kubectl('delete validatingadmissionpolicybinding envoy-initializer-routes');
  const patch = 'patch configmap envoy-routes --namespace=clients --type=merge -p';
  await eventually('the policy is gone', async () => {
    const edit = [...patch.split(' '), '{"data":{"rds.json":"{}"}}'];
    return (await fixture.controlPlane.kubectl(edit)).code === 0;
  });
  await eventually('the edit is repaired', isThere);
  await kubectl('delete configmap envoy-routes --namespace=clients');
  await eventually('the deletion is repaired', isThere);
});

test('a running sidecar is touched when its routes change, and counts when it has taken them', async () => {
  await namespace('running');
  await pod('running');
  let mounted = 'none';
  const server = createServer((_, response) => response.end(mounted));
  await new Promise<void>((resolve) => server.listen(15_021, ADDRESS, resolve));
  try {
    // Its Envoy is older than the ConfigMap `envoy` of the namespace.
    const running = { startedAt: '2026-01-01T00:00:00Z' };
    const container = {
      name: 'envoy',
      ready: true,
      restartCount: 0,
      image: 'envoy',
      imageID: '',
      state: { running },
    };
    const ready = {
      phase: 'Running',
      podIP: ADDRESS,
      podIPs: [{ ip: ADDRESS }],
      initContainerStatuses: [container],
    };
    const patch = 'patch pod a --namespace=running --subresource=status --type=merge -p';
    await fixture.kubectl(...patch.split(' '), JSON.stringify({ status: ready }));
    await eventually('it is behind', async () =>
      ((await condition(PROGRAMMED, 'first', 'default'))?.message ?? '').startsWith('0 of 1'),
    );
    await eventually('it is touched', async () =>
      (await kubectl('get pod a --namespace=running -o yaml')).includes(
        'initializer.kubernetes.io/envoy-routes: ',
      ),
    );
    mounted = /"inline_string":"([0-9a-f]+)"/.exec(await file('running'))?.[1] ?? '';
    await eventually('it has the routes', async () => {
      const programmed = await condition(PROGRAMMED, 'first', 'default');
      return programmed?.status === 'True' && programmed.message === '1 of 1 sidecars';
    });
    await fixture.apply(route('fourth', 'default', 'web-2'));
    await eventually('a new route is not there yet', async () =>
      ((await condition(PROGRAMMED, 'fourth', 'default'))?.message ?? '').startsWith('0 of 1'),
    );
    expect(await condition(PROGRAMMED, 'first', 'default')).toMatchObject({ status: 'True' });
    mounted = /"inline_string":"([0-9a-f]+)"/.exec(await file('running'))?.[1] ?? '';
    await eventually(
      'it is there',
      async () => (await condition(PROGRAMMED, 'fourth', 'default'))?.status === 'True',
    );
    await fixture.kubectl(
      ...['wait', 'httproute/fourth', '--namespace=default', '--timeout=30s'],
      `--for=jsonpath={.status.parents[0].conditions[?(@.type=="${PROGRAMMED}")].status}=True`,
    );
    const scrape = async () => (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
    const metrics = await scrape();
    expect(metrics).toContain('envoy_initializer_routes_sidecars_behind 0');
    expect(metrics).toMatch(/envoy_initializer_routes_programmed_seconds_count [1-9]/);
    // The copy of the ConfigMap `envoy` comes after the file.
    await eventually('its configuration is older', async () =>
      /^running +a +old-configuration +<none>$/m.test((await cli('drift', '-n', 'running')).text),
    );
    expect((await cli('check', 'pod/a', '-n', 'running')).text).toContain(
      '! old-configuration: pod a has an older Envoy configuration than in ConfigMap envoy, which Envoy reads only at startup: recreate the pod',
    );
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await kubectl('delete namespace running --wait=false');
  }
});

test('the file of routes is there before the configuration that the first pod waits for', async () => {
  await namespace('new');
  await pod('new');
  const created = async (name: string) =>
    JSON.parse(await kubectl(`get configmap ${name} --namespace=new -o json`)).metadata;
  await eventually(
    'the copy is there',
    async () =>
      (await fixture.controlPlane.kubectl(['get', 'configmap', 'envoy', '--namespace=new'])).code === 0,
  );
  const [routes, envoy] = [await created('envoy-routes'), await created('envoy')];
  expect(Number(routes.resourceVersion)).toBeLessThan(Number(envoy.resourceVersion));
});

test('a GRPCRoute takes the place of an HTTPRoute of its port, and both statuses say so', async () => {
  await fixture.apply(service('calls', 'default'));
  const parentRefs = [{ group: '', kind: 'Service', name: 'calls' }];
  const http = route('calls', 'default', 'web-2');
  await fixture.apply({ ...http, spec: { ...http.spec, parentRefs } });
  await eventually('the HTTPRoute is in the file', async () => (await file('clients')).includes('"/calls"'));
  const grpc = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GRPCRoute',
    metadata: { name: 'calls', namespace: 'default' },
    spec: {
      parentRefs,
      rules: [
        {
          matches: [{ method: { service: 'shop.Cart', method: 'Add' } }],
          backendRefs: [{ name: 'web-2', port: 80 }],
          filters: [{ type: 'ExtensionRef', extensionRef: { group: 'a', kind: 'B', name: 'c' } }],
        },
        {
          matches: [{ method: { service: 'shop.Cart' } }],
          backendRefs: [{ name: 'web-2', port: 80 }],
        },
      ],
    },
  };
  const { stderr } = await fixture.controlPlane.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify(grpc),
  });
  expect(stderr).toContain('InvalidKind: rules[0].filters[0].extensionRef');
  await eventually('it has lost the port', async () => {
    const accepted = await condition('Accepted', 'calls', 'default');
    return accepted?.reason === 'Conflicted' && accepted.message.includes('GRPCRoute default/calls');
  });
  const text = await file('clients');
  expect(text).not.toContain('"/calls"');
  expect(text).toContain('GRPCRoute default/calls rules[1]');
  const status = async (type: string) =>
    kubectl(
      `get grpcroute calls --namespace=default -o jsonpath={.status.parents[0].conditions[?(@.type=="${type}")].status}`,
    );
  await eventually('it is accepted', async () => (await status('Accepted')) === 'True');
  expect(await status('ResolvedRefs')).toBe('False');
  const asked = await cli('check', 'pod/a', '-n', 'clients', '--to', 'http://calls.default/shop.Cart/Remove');
  expect(asked.text).toContain(
    'GRPCRoute default/calls rules[1] matches method shop.Cart/*: 100% to default/web-2:80',
  );
  expect((await cli('check', 'grpcroute/calls', '-n', 'default')).text).toContain('InvalidKind');
  await kubectl('delete grpcroute calls --namespace=default');
  await eventually('the HTTPRoute is back', async () => (await file('clients')).includes('"/calls"'));
  await kubectl('delete httproute calls --namespace=default');
});

test('check says what a route does, and which rule takes a request', async () => {
  const check = (...args: readonly string[]) => cli('check', ...args);
  await fixture.apply(route('lost', 'default', 'nobody'));
  expect(await check('httproute/first', '-n', 'default')).toEqual({
    code: 1,
    text: expect.stringContaining(
      '! no-ready-endpoints: Service default/web-2 has no ready endpoint: its share of requests gets 503',
    ),
  });
  await fixture.apply({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-2-a', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web-2' } },
    addressType: 'IPv4',
    ports: [{ port: 80 }],
    endpoints: [
      { addresses: ['10.9.9.1'], conditions: { ready: true } },
      { addresses: ['10.9.9.2'], conditions: { ready: false } },
    ],
  });
  const report = await check('httproute/first', '-n', 'default');
  expect(report.text).toMatch(
    /Service default\/web port 80: applies to clients in all namespaces.*\n.*Service default\/web-2 has 1 ready endpoint\n[\s\S]*in use by /,
  );
  expect(report.text).not.toContain('no-ready-endpoints');
  expect(await check('httproute/lost', '-n', 'default')).toEqual({
    code: 1,
    text: expect.stringContaining(
      '! BackendNotFound: rules[0].backendRefs[0]: Service default/nobody does not exist',
    ),
  });
  expect(await check('httproute/none', '-n', 'default')).toEqual({
    code: 2,
    text: expect.stringContaining('httproute/none does not exist in namespace default'),
  });
  const asked = await check('pod/a', '-n', 'clients', '--to', 'http://web.default/first/x');
  expect(asked).toEqual({
    code: 0,
    text: expect.stringContaining(
      'default/first rules[0] matches path below "/first": 100% to default/web-2:80',
    ),
  });
  expect(asked.text).toContain('default/lost rules[0] is not used: path is "/first/x", not below "/lost"');
  expect(await check('pod/a', '-n', 'clients', '--to', 'http://elsewhere/')).toEqual({
    code: 0,
    text: expect.stringContaining('no Service has the name or address elsewhere'),
  });
  await kubectl('delete httproute lost --namespace=default');
});

test('a tenant reaches no other with its routes, and keeps none from theirs', async () => {
  await namespace('tenant');
  await pod('tenant');
  await eventually('the tenant has a file', async () => (await file('tenant')) !== '');
  const parentRefs = [{ group: '', kind: 'Service', name: 'web', namespace: 'default' }];
  const consumer = {
    ...route('consumer', 'tenant', 'web-2'),
    metadata: { name: 'consumer', namespace: 'tenant' },
  };
  await fixture.apply({ ...consumer, spec: { ...consumer.spec, parentRefs } });
  await eventually('the tenant has its route', async () =>
    (await file('tenant')).includes('"tenant/consumer'),
  );
  // Compiled, each would take seconds.
  const value = 'a{1,333}'.repeat(120);
  const matches = Array.from({ length: 8 }, (_, i) => ({
    path: { type: 'RegularExpression', value: `/${i}${value}` },
  }));
  const rules = Array.from({ length: 8 }, () => ({ matches, backendRefs: [{ name: 'web-2', port: 80 }] }));
  await fixture.apply(service('web', 'tenant'), {
    ...route('giant', 'tenant', 'web-2'),
    spec: { parentRefs: [{ group: '', kind: 'Service', name: 'web' }], rules },
  });
  await eventually('it is refused', async () => {
    const accepted = await condition('Accepted', 'giant', 'tenant');
    return accepted?.status === 'False' && accepted.message.includes('more than 64000');
  });
  await fixture.apply(route('after', 'default', 'web-2'));
  await eventually('others go on', async () => (await file('clients')).includes('/after'));
  expect(await file('clients')).not.toContain('consumer');
  // The port is none of the Service.
  const ported = { ...route('ported', 'default', 'web-2') };
  const [parent] = ported.spec.parentRefs;
  const warned = await fixture.apply({
    ...ported,
    spec: { ...ported.spec, parentRefs: [{ ...parent, port: 81 }] },
  });
  expect(warned.stderr).toBe('Warning: NoMatchingParent: Service default/web has no port 81\n');
  await fixture.apply(route('behind', 'default', 'web-2'));
  await eventually('a later one is there', async () => (await file('clients')).includes('/behind'));
  expect(await file('clients')).not.toContain('/ported');
  await kubectl('delete httproute after ported behind --namespace=default');
  await kubectl('delete httproute giant --namespace=tenant');
});

test("a route's status in our name that is not ours is written again", async () => {
  const forged = (await parents('first', 'default')).map((parent) => ({
    ...parent,
    conditions: parent.conditions.map((each) => ({ ...each, status: 'False', message: 'forged' })),
  }));
  const patch = 'patch httproute first --namespace=default --subresource=status --type=merge -p';
  await fixture.kubectl(...patch.split(' '), JSON.stringify({ status: { parents: forged } }));
  await eventually(
    'it is right',
    async () => (await condition('Accepted', 'first', 'default'))?.status === 'True',
  );
});

test('an immutable ConfigMap is said to keep routes out, and is made again once it is deleted', async () => {
  await fixture.kubectl('apply', '-f', join(projectDirectory(), 'deploy/base/routes-file.yaml'));
  await eventually('the policy refuses an edit of the file', async () => {
    const edit = 'patch configmap envoy-routes --namespace=clients --type=merge -p'.split(' ');
    const { stderr } = await fixture.controlPlane.kubectl([...edit, '{"data":{"rds.json":"{}"}}']);
    return stderr.includes('which only the account of envoy-initializer may write');
  });
  const map = ['--namespace=clients', 'configmap', 'envoy-routes'];
  for (const change of [
    ['delete', ...map],
    ['delete', 'configmaps', '--all', '--namespace=clients'],
    ['patch', ...map, '--type=merge', '-p', '{"data":null}'],
    ['patch', ...map, '--type=merge', '-p', '{"immutable":true}'],
    ['label', ...map, '--overwrite', 'initializer.kubernetes.io/routes-of=me'],
    ['label', ...map, 'initializer.kubernetes.io/routes-of-'],
  ]) {
    const { stderr } = await fixture.controlPlane.kubectl(change);
    expect(stderr).toContain("ValidatingAdmissionPolicy 'envoy-initializer-routes'");
  }
  await fixture.kubectl('annotate', ...map, 'example.com/note=seen');
  await namespace('frozen');
  const labels = { 'initializer.kubernetes.io/routes-of': 'envoy-initializer' };
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'envoy-routes', namespace: 'frozen', labels },
    immutable: true,
    data: { 'rds.json': '{}' },
  });
  await pod('frozen');
  await eventually('an Event says so', async () =>
    (await kubectl('get events.events.k8s.io --namespace=frozen -o yaml')).includes(
      'is immutable: delete it',
    ),
  );
  expect(await file('frozen')).toBe('{}');
  await kubectl('delete configmap envoy-routes --namespace=frozen');
  await eventually('the routes are there', async () => (await file('frozen')).includes('/first'));
});

test('a Service that is made again has its new address in the file of routes, and not that of another', async () => {
  const address = () => kubectl('get service web-2 --namespace=default -o jsonpath={.spec.clusterIP}');
  const before = await address();
  expect(await file('clients')).toContain(`"${before}:80"`);
  await kubectl('delete service web-2 --namespace=default');
  const taker = service('taker', 'default');
  await fixture.apply({ ...taker, spec: { ...taker.spec, clusterIP: before } }, service('web-2', 'default'));
  const after = await address();
  await eventually('the address is the new one', async () => {
    const text = await file('clients');
    return text.includes(`"${after}:80"`) && !text.includes(`"${before}:80"`);
  });
});

test('an operator that was killed goes on delivering routes where it was', async () => {
  fixture.operator.process.kill('SIGKILL');
  await fixture.operator.process.exited;
  await fixture.apply(route('third', 'default', 'web-2'));
  await fixture.operator.restart();
  await eventually('the file is right', async () => {
    const text = await file('clients');
    return text.includes('/third') && text.includes('/first');
  });
});

test('the definition of routes is removed and comes again while the operator runs', async () => {
  const definition = 'crd/httproutes.gateway.networking.k8s.io';
  await kubectl(`delete ${definition}`);
  await eventually('its routes are gone', async () => !(await file('clients')).includes('default/'));
  await fixture.kubectl('apply', '--server-side', '-k', await httpRouteCrds());
  await eventually('a route can be made', async () => {
    const input = JSON.stringify(route('again', 'default', 'web-2'));
    return (await fixture.controlPlane.kubectl(['apply', '-f', '-'], { input })).code === 0;
  });
  await eventually('the route is there', async () => (await file('clients')).includes('/again'), {
    boundMs: 60_000,
  });
});
