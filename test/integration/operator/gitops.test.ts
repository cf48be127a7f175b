import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { lauxlib, lua, lualib, to_luastring } from 'fengari';
import { load, loadAll } from 'js-yaml';
import type { KubeObject, ObjectMeta } from '../../../src/kube/api/object.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';
import { listed, must, type Operator, startOperator } from '../../env/operator.ts';
import { FluxHealth } from '../../support/operator/flux-health.ts';
import { Installation } from '../../support/operator/installation.ts';

/** What a health check of Argo CD says of an object. */
interface Health {
  readonly status: string | null;
  readonly message: string | null;
}

/**
 * Runs a health check as Argo CD does: a Lua script that returns a table, with the object in `obj`.
 * @throws with Lua's message if it fails.
 */
function luaHealth(script: string, object: object): Health {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const source = `obj = ${literal(object)}\nlocal hs = (function()\n${script}\nend)()\nreturn hs.status, hs.message`;
  if (lauxlib.luaL_loadstring(state, to_luastring(source)) || lua.lua_pcall(state, 0, 2, 0))
    throw new Error(lua.lua_tojsstring(state, -1) ?? 'Lua failed without a message');
  return { status: lua.lua_tojsstring(state, -2), message: lua.lua_tojsstring(state, -1) };
}

/** JSON as a literal of Lua, in which null is the absence of a value. */
function literal(value: unknown): string {
  if (value === null) return 'nil';
  if (Array.isArray(value)) return `{${value.map(literal).join(', ')}}`;
  if (typeof value === 'object')
    return `{${Object.entries(value).map(([key, each]) => `[${quoted(key)}] = ${literal(each)}`)}}`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

function quoted(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) => `\\${String(byte).padStart(3, '0')}`);
  return `"${bytes.join('')}"`;
}

jest.setTimeout(180_000);

const at = (path: string) => join(projectDirectory(), path);
const read = (path: string): unknown => load(readFileSync(at(path), 'utf8'));
/** How both tools mark what they apply. */
const TRACKED = { 'argocd.argoproj.io/tracking-id': 'app:…' };
const LABELS = { 'app.kubernetes.io/instance': 'app', 'kustomize.toolkit.fluxcd.io/name': 'app' };
/** Kinds of routes, each with a Service. */
const SERVICES = [
  ['HTTPRoute', 'web'],
  ['GRPCRoute', 'grpc'],
] as const;
/** The operator's field managers. */
const OURS = /^envoy-initializer/;

interface Live extends KubeObject {
  readonly kind: string;
  readonly metadata: ObjectMeta & Required<Pick<ObjectMeta, 'managedFields'>>;
}

let controlPlane: ControlPlane;
let operator: Operator;
let manifests: readonly KubeObject[];

const run = async (command: string) => (await must(controlPlane, command.split(' '))).stdout;
const apply = (manager: string, objects: readonly object[]) =>
  must(controlPlane, ['apply', '--server-side', `--field-manager=${manager}`, '-f', '-'], listed(objects));
const get = async (kind: string, name: string): Promise<Live> =>
  JSON.parse(await run(`get ${kind} ${name} -o json --show-managed-fields`));

/** The objects of the manifests, as they are in the cluster. */
async function live(): Promise<readonly Live[]> {
  const { stdout } = await must(
    controlPlane,
    ['get', '-f', '-', '-o', 'json', '--show-managed-fields'],
    listed(manifests),
  );
  return JSON.parse(stdout).items;
}

/** What changes with each write. Kubernetes itself writes statuses. */
function versions(objects: readonly Live[]): readonly string[] {
  return objects.map(({ kind, metadata: { name, generation, resourceVersion, managedFields } }) => {
    const hasStatus = managedFields.some(({ subresource }) => subresource === 'status');
    return `${kind}/${name} ${hasStatus ? `generation ${generation}` : resourceVersion}`;
  });
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  await run(`apply -f ${at('test/env/control-plane/network-attachment-definition-crd.yaml')}`);
  await run(`apply --server-side -k ${await httpRouteCrds()}`);
  const rendered = loadAll(await run(`kustomize ${at('deploy/overlays/default')}`)) as KubeObject[];
  manifests = rendered.map(({ metadata, ...object }) => ({
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...LABELS },
      annotations: { ...metadata.annotations, ...TRACKED },
    },
  }));
  await apply('argocd-controller', manifests);
  const log = join(controlPlane.directory, 'operator.log');
  operator = await startOperator(controlPlane, { log, ownCertificates: true, isInstalled: true });
  await new Installation(controlPlane).untilWritten();
}, 180_000);

afterAll(() => controlPlane?.stop());

function network(name: string, third: number): KubeObject {
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name, namespace: 'default', labels: LABELS, annotations: TRACKED },
    spec: { cidr: `10.77.${third}.0/24`, gateway: `10.77.${third}.1` },
  } as KubeObject;
}

function route(kind: string, parent: string, backend: string): KubeObject {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind,
    metadata: { name: backend, namespace: 'default' },
    spec: {
      parentRefs: [{ group: '', kind: 'Service', name: parent }],
      rules: [{ backendRefs: [{ name: backend, port: 80 }] }],
    },
  } as KubeObject;
}

test('the manifests that are applied again and again and the operator do not undo each other', async () => {
  // The first apply of a manager adds its name to each object.
  for (const manager of ['argocd-controller', 'kustomize-controller']) await apply(manager, manifests);
  const before = versions(await live());
  const template = await get('configmap', 'envoy-initializer -n envoy-initializer');
  const { pid } = operator.process;
  for (let minute = 0; minute < 5; minute++)
    for (const manager of ['argocd-controller', 'kustomize-controller']) await apply(manager, manifests);
  // The operator has seen all of it when it has done what came after it.
  await apply('argocd-controller', [network('after', 0)]);
  await run('wait network/after --for=condition=Ready --timeout=60s');
  expect(versions(await live())).toEqual(before);
  expect(await get('configmap', 'envoy-initializer -n envoy-initializer')).toEqual(template);
  expect(operator.process.pid).toBe(pid);
  expect(
    await run('get lease envoy-initializer -n envoy-initializer -o jsonpath={.spec.leaseTransitions}'),
  ).toBe('0');
});

test('what the operator writes into the manifests is what the Application ignores', async () => {
  const { spec } = read('deploy/gitops/application.yaml') as {
    readonly spec: {
      readonly ignoreDifferences: readonly { kind: string; managedFieldsManagers: readonly string[] }[];
    };
  };
  const written = (await live()).flatMap(({ kind, metadata }) =>
    metadata.managedFields
      .filter(({ manager = '' }) => OURS.test(manager))
      .map(({ manager, fieldsV1 }) => ({ kind, manager, fields: JSON.stringify(fieldsV1) })),
  );
  expect(written.map(({ kind, manager }) => ({ kind, managedFieldsManagers: [manager] }))).toEqual(
    spec.ignoreDifferences.map(({ kind, managedFieldsManagers }) => ({ kind, managedFieldsManagers })),
  );
  for (const { fields } of written) {
    const leaves = fields.matchAll(/"f:(\w+)":\{(?:\}|"\.":\{\}|"k:\{\\"uid)/g);
    const names = new Set([...leaves].map(([, name = '']) => name));
    expect([...names].toSorted()).toEqual(['caBundle', 'ownerReferences']);
  }
});

test('what the operator creates is not tracked by GitOps, so nothing prunes it', async () => {
  const labelled = await run(
    'get networks,network-attachment-definitions,configmaps,secrets,leases -A -o json',
  );
  const items: readonly Live[] = JSON.parse(labelled).items;
  const tracked = items.filter(({ metadata: { labels, annotations } }) => {
    const keys = Object.keys({ ...labels, ...annotations });
    return [...Object.keys(LABELS), ...Object.keys(TRACKED)].some((key) => keys.includes(key));
  });
  expect(items.map(({ kind }) => kind)).toContain('NetworkAttachmentDefinition');
  expect(tracked.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual(['Network/after']);
});

test('a template that is pruned by GitOps is restored, with its content', async () => {
  const config = 'containers:\n- {name: envoy, image: "envoy:of-git"}\n';
  const metadata = { name: 'envoy-initializer', namespace: 'envoy-initializer' };
  await must(
    controlPlane,
    ['apply', '--server-side', '--force-conflicts', '--field-manager=argocd-controller', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { config } }),
  );
  await run(
    'wait configmap/envoy-initializer -n envoy-initializer --for=jsonpath={.data.config} --timeout=30s',
  );
  await eventually('the template is adopted', async () =>
    (await run('get events -n envoy-initializer -o jsonpath={.items[*].reason}')).includes('TemplateAdopted'),
  );
  const {
    metadata: { uid },
  } = await get('configmap', 'envoy-initializer -n envoy-initializer');
  await run('delete configmap envoy-initializer -n envoy-initializer');
  await run('wait configmap/envoy-initializer -n envoy-initializer --for=create --timeout=120s');
  const restored = await get('configmap', 'envoy-initializer -n envoy-initializer');
  expect(restored).toMatchObject({ data: { config } });
  expect(restored.metadata.uid).not.toBe(uid);
});

describe('health checks', () => {
  const { data: scripts } = read('deploy/gitops/argocd-cm.yaml') as {
    readonly data: Readonly<Record<string, string>>;
  };
  let flux: FluxHealth;
  /** What Argo CD and Flux say of an object. */
  const health = async (object: Live & { readonly apiVersion?: string }) => {
    const [group] = (object.apiVersion ?? '').split('/');
    const script = scripts[`resource.customizations.health.${group}_${object.kind}`] ?? '';
    const { status, message } = luaHealth(script, object);
    return { argo: status, message, flux: await flux.of(object) };
  };
  const withStatus = (object: Live, status: object) => ({ ...object, status });
  /** The object when its conditions are there. */
  const observed = async (kind: string, name: string) => {
    await eventually(`${kind}/${name} has a status`, async () =>
      (await run(`get ${kind} ${name} -o json`)).includes('"conditions"'),
    );
    return await get(kind, name);
  };

  beforeAll(async () => {
    flux = await FluxHealth.start(controlPlane);
    const spec = { ports: [{ port: 80 }] };
    await apply('argocd-controller', [
      network('good', 1),
      // Of a Service with both, GRPCRoutes come first.
      ...SERVICES.map(([, name]) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace: 'default' },
        spec,
      })),
      ...SERVICES.flatMap(([kind, name]) => [route(kind, name, name), route(kind, name, 'none')]),
    ]);
    await run('wait network/good --for=condition=Ready --timeout=60s');
    await apply('argocd-controller', [network('overlaps', 1)]);
  });

  test('Argo CD and Flux see the health of Networks', async () => {
    const good = await observed('network', 'good');
    expect(await health(good)).toEqual({
      argo: 'Healthy',
      message: expect.stringContaining('pods can attach to 10.77.1.0/24'),
      flux: 'current',
    });
    expect(await health(await observed('network', 'overlaps'))).toEqual({
      argo: 'Degraded',
      message: expect.stringContaining('default/good'),
      flux: 'failed',
    });
    const { status: _, ...unseen } = good as Live & { readonly status: unknown };
    expect(await health(unseen)).toMatchObject({
      argo: 'Progressing',
      flux: expect.stringContaining('no such key: status'),
    });
    const busy = [{ type: 'Progressing', status: 'True', message: 'will change' }];
    expect(await health(withStatus(good, { observedGeneration: 1, conditions: busy }))).toEqual({
      argo: 'Progressing',
      message: 'will change',
      flux: 'inProgress',
    });
    const later = { ...good, metadata: { ...good.metadata, generation: 2 } };
    // Flux compares the generations itself.
    expect(await health(later)).toMatchObject({ argo: 'Progressing' });
  });

  test.each(SERVICES)('Argo CD and Flux see the health of %ss', async (kind, name) => {
    const good = await observed(kind, name);
    expect(await health(good)).toMatchObject({ argo: 'Healthy', flux: 'current' });
    expect(await health(await observed(kind, 'none'))).toEqual({
      argo: 'Degraded',
      message: expect.stringContaining('none'),
      flux: 'failed',
    });
    expect(await health({ ...good, metadata: { ...good.metadata, generation: 2 } })).toMatchObject({
      argo: 'Progressing',
      flux: 'inProgress',
    });
    const programmed = (reason: string) => {
      const type = 'initializer.kubernetes.io/Programmed';
      const conditions = [{ type, status: 'False', reason, message: '1 of 2', observedGeneration: 1 }];
      return withStatus(good, { parents: [{ conditions }] });
    };
    expect(await health(programmed('Pending'))).toEqual({
      argo: 'Progressing',
      message: '1 of 2',
      flux: 'inProgress',
    });
    expect(await health(programmed('RoutesTooLarge'))).toMatchObject({ argo: 'Degraded', flux: 'failed' });
  });
});
