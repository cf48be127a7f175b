import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { GATEWAY_APIS, gatewayApiCrds } from '../../env/gateway-api-crds.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(120_000);

const GROUP = 'gateway.networking.k8s.io';
const DEFINITIONS = ['httproutes', 'grpcroutes', 'referencegrants'];
/** Each kind of route, and a match by a name that its file has. */
const ROUTES: readonly (readonly [kind: string, match: (name: string) => object])[] = [
  ['HTTPRoute', (name) => ({ path: { type: 'PathPrefix', value: `/${name}` } })],
  ['GRPCRoute', (name) => ({ method: { service: name.replaceAll('-', '_') } })],
];

let fixture: OperatorFixture;
const kubectl = (line: string) => fixture.kubectl(...line.split(' '));

beforeAll(async () => {
  fixture = await startOperatorFixture();
  const transparent = join(projectDirectory(), 'deploy/transparent');
  await fixture.kubectl('apply', '--server-side', '--force-conflicts', '-k', transparent);
  const annotations = { 'initializer.kubernetes.io/envoy-templates': 'transparent' };
  await fixture.namespace('clients', { [OPT_IN]: 'true' }, annotations);
  const service = (name: string, namespace: string) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { ports: [{ port: 80 }], selector: { app: name } },
  });
  await fixture.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } },
    service('httproute', 'default'),
    service('grpcroute', 'default'),
    service('safe', 'bank'),
  );
  await eventually('a pod with the template is there', async () => {
    await kubectl('delete pod a --namespace=clients --ignore-not-found --wait=false --force');
    const spec = { containers: [{ name: 'app', image: 'app' }] };
    await fixture.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', namespace: 'clients' },
      spec,
    });
    return (await kubectl('get pod a --namespace=clients -o yaml')).includes('envoy-routes');
  });
}, 600_000);

afterAll(() => fixture?.stop());

const file = () =>
  kubectl('get configmap envoy-routes --namespace=clients -o jsonpath={.data} --ignore-not-found');

// In this order, as a cluster is updated: what was made with an earlier version stays.
test.each(GATEWAY_APIS)(
  'with the definitions of $version, routes are accepted and delivered',
  async (pin) => {
    const crds = await gatewayApiCrds(pin);
    const files = DEFINITIONS.flatMap((name) => ['-f', join(crds, `${GROUP}_${name}.yaml`)]);
    await fixture.kubectl('apply', '--server-side', '--force-conflicts', ...files);
    await kubectl(
      `wait --for=condition=Established ${DEFINITIONS.map((name) => `crd/${name}.${GROUP}`).join(' ')}`,
    );
    const nameOf = (kind: string, { version } = pin) =>
      `${kind.toLowerCase()}-${version.replaceAll('.', '-')}`;
    const kinds = ROUTES.map(([kind]) => kind);
    const objects = ROUTES.flatMap(([kind, match]) => [
      {
        apiVersion: `${GROUP}/v1beta1`,
        kind: 'ReferenceGrant',
        metadata: { name: nameOf(kind), namespace: 'bank' },
        spec: { from: [{ group: GROUP, kind, namespace: 'default' }], to: [{ group: '', kind: 'Service' }] },
      },
      {
        apiVersion: `${GROUP}/v1`,
        kind,
        metadata: { name: nameOf(kind), namespace: 'default' },
        spec: {
          // A GRPCRoute has a Service of its own: it comes before HTTPRoutes of the same one.
          parentRefs: [{ group: '', kind: 'Service', name: kind.toLowerCase() }],
          rules: [
            { matches: [match(nameOf(kind))], backendRefs: [{ name: 'safe', namespace: 'bank', port: 80 }] },
          ],
        },
      },
    ]);
    await eventually('the API server has the definitions', async () => {
      const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
      return (await fixture.controlPlane.kubectl(['apply', '-f', '-'], { input })).code === 0;
    });
    for (const kind of kinds) {
      await eventually(`the ${kind} is in the file`, async () => (await file()).includes(nameOf(kind)));
      await eventually(`the status of the ${kind} says so`, () => isAccepted(kind, nameOf(kind)));
    }
    const all = await file();
    for (const earlier of GATEWAY_APIS.slice(0, GATEWAY_APIS.indexOf(pin)))
      for (const kind of kinds) expect(all).toContain(nameOf(kind, earlier));
    await kubectl(`delete referencegrant ${kinds.map((kind) => nameOf(kind)).join(' ')} --namespace=bank`);
  },
);

async function isAccepted(kind: string, name: string): Promise<boolean> {
  const { metadata, status } = JSON.parse(await kubectl(`get ${kind} ${name} --namespace=default -o json`));
  const conditions: readonly { type: string; status: string; observedGeneration: number }[] =
    status?.parents?.[0]?.conditions ?? [];
  return ['Accepted', 'ResolvedRefs'].every((type) =>
    conditions.some(
      (each) =>
        each.type === type && each.status === 'True' && each.observedGeneration === metadata.generation,
    ),
  );
}
