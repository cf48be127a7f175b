import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { gatewayApiCrds } from '../../env/gateway-api-crds.ts';
import { listed, must } from '../../env/operator.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { NetworkWorld, networkOf, podOn } from '../../support/network/network-world.ts';

/** Each makes one object of each kind. POISON_FIRST=401 goes on after an earlier run. */
const { POISON_SEEDS = 50, POISON_FIRST = 1 } = process.env;
const SEEDS = Number(POISON_SEEDS);
jest.setTimeout(600_000 + SEEDS * 2_000);

const OPERATOR = 'envoy-initializer';
const CRDS = ['networks.samplecrd.k8s.io', 'network-attachment-definitions.k8s.cni.cncf.io'].concat(
  ['httproutes', 'grpcroutes', 'referencegrants'].map((kind) => `${kind}.gateway.networking.k8s.io`),
);
const OUTSIDE = ['apiVersion', 'kind', 'metadata', 'type'];
const VALUES: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>,
  fc.constantFrom<JsonValue>(null, '', 'no', -1, 1e308, true, [], {}, [null], [[]], '0.0.0.0/0', '::/0'),
  fc.constantFrom<JsonValue>('a'.repeat(70_000), '\u001b[2J', '[', '{"a":', '../../x', '9'.repeat(400)),
);

interface StoredCrd {
  readonly metadata: object;
  readonly spec: { readonly versions: readonly object[] };
  readonly status?: unknown;
}

let world: NetworkWorld;
/** Objects that are served well, from which the others are made: by their kind, as the API server has them. */
const healthy = new Map<string, JsonObject>();

beforeAll(async () => {
  world = await NetworkWorld.start({ args: ['--resync=5s'] });
  await world.run(`apply --server-side -f ${await gatewayApiCrds()}`);
  const transparent = join(projectDirectory(), 'deploy/transparent');
  await world.run(`apply --server-side --force-conflicts -k ${transparent}`);
  await world.run(`label namespace default ${OPT_IN}=true`);
  await world.ready('healthy');
  await world.apply(
    service('web', { 'samplecrd.k8s.io/network': 'healthy', 'samplecrd.k8s.io/selector': 'app=web' }),
    service('httproute'),
    service('grpcroute'),
    route('HTTPRoute', 'healthy', { path: { type: 'PathPrefix', value: '/a' } }),
    route('GRPCRoute', 'healthy', { method: { service: 'a.B', method: 'C' } }),
    { ...grant('healthy') },
    report('healthy'),
    podOn('healthy', { asked: 'healthy' }),
  );
  for (const kind of [
    'network',
    'httproute',
    'grpcroute',
    'referencegrant',
    'net-attach-def',
    'pod',
    'service',
  ])
    await keep(kind, kind === 'service' ? 'web' : 'healthy', 'default');
  await keep('configmap', 'healthy', OPERATOR);
  await keep('lease', OPERATOR, OPERATOR);
  const [revision] = (await world.run(`get controllerrevision -n ${OPERATOR} -o name`)).trim().split('\n');
  if (revision) await keep('controllerrevision', revision.split('/')[1] ?? '', OPERATOR);
}, 600_000);

afterAll(() => world?.stop());

async function keep(kind: string, name: string, namespace: string): Promise<void> {
  const object = JSON.parse(await world.run(`get ${kind} ${name} -n ${namespace} -o json`));
  const { uid, resourceVersion, managedFields, creationTimestamp, generation, ...metadata } = object.metadata;
  const { clusterIP, clusterIPs, ...spec } = object.spec ?? {};
  // What its conditions say is of no generation that there is.
  const text = JSON.stringify({ ...object, metadata, ...(object.spec && { spec }) });
  healthy.set(kind, JSON.parse(text.replace(/"observedGeneration":\d+/g, '"observedGeneration":0')));
}

const service = (name: string, annotations = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, annotations },
  spec: { ports: [{ port: 80 }] },
});
const route = (kind: string, name: string, match: object, parent = kind.toLowerCase()) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind,
  metadata: { name },
  spec: {
    // A GRPCRoute comes before HTTPRoutes of the same Service.
    parentRefs: [{ group: '', kind: 'Service', name: parent, port: 80 }],
    rules: [{ matches: [match], backendRefs: [{ name: 'web', port: 80, weight: 1 }] }],
  },
});
const grant = (name: string) => ({
  apiVersion: 'gateway.networking.k8s.io/v1beta1',
  kind: 'ReferenceGrant',
  metadata: { name },
  spec: {
    from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop' }],
    to: [{ group: '', kind: 'Service' }],
  },
});
const report = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: OPERATOR, labels: { 'samplecrd.k8s.io/node-report': 'true' } },
  data: { report: JSON.stringify({ version: 1, networks: [{ uid: 'a', vni: 1 }], routes: ['10.0.0.0/8'] }) },
});

/** The object with one of its values replaced: below `metadata` only texts of annotations, in which JSON is met, too. */
function poisoned(object: JsonObject, seed: number): JsonObject {
  const copy = structuredClone(object) as Record<string, JsonValue>;
  const metadata = copy.metadata as Record<string, JsonValue>;
  const roots = Object.keys(copy).filter(
    (key) => ![...OUTSIDE, ...(copy.kind === 'Pod' ? ['spec', 'status'] : [])].includes(key),
  );
  const holders: {
    readonly holder: Record<string, JsonValue>;
    readonly key: string;
    readonly asText: boolean;
  }[] = [];
  const walk = (holder: Record<string, JsonValue>, key: string, asText: boolean) => {
    holders.push({ holder, key, asText });
    const value = holder[key];
    if (isArray(value) || isObject(value))
      for (const inner of Object.keys(value)) walk(value as Record<string, JsonValue>, inner, asText);
  };
  for (const root of roots) walk(copy, root, false);
  const texts = isObject(metadata.annotations) ? metadata.annotations : {};
  for (const key of Object.keys(texts)) walk(texts as Record<string, JsonValue>, key, true);
  const [[index = 0, value = null] = []] = fc.sample(fc.tuple(fc.nat(holders.length - 1), VALUES), {
    seed,
    numRuns: 1,
  });
  const at = holders[index];
  if (at !== undefined) at.holder[at.key] = inText(at.holder[at.key], value, at.asText, seed);
  metadata.name = `poison-${seed}`;
  if (copy.kind === 'Lease') metadata.name = OPERATOR;
  return copy;
}

/** A text with JSON is poisoned inside; where only a text can be, a value is written as JSON. */
function inText(old: JsonValue | undefined, value: JsonValue, asText: boolean, seed: number): JsonValue {
  if (typeof old === 'string' && /^[[{]/.test(old)) {
    try {
      const wrapped = { apiVersion: '', kind: '', metadata: {}, of: JSON.parse(old) };
      return JSON.stringify(poisoned(wrapped, seed + 1).of ?? null);
    } catch {
      return JSON.stringify(value);
    }
  }
  return asText && typeof value !== 'string' ? JSON.stringify(value) : value;
}

/**
 * With schemas that let all through and no status apart, as an earlier version may have had, and without webhooks. Resolves to
 * what puts them back.
 */
async function openSchemas(): Promise<() => Promise<void>> {
  const get = async (of: string): Promise<readonly StoredCrd[]> =>
    JSON.parse(await world.run(`get ${of} -o json`)).items.map(
      ({ status, metadata, ...object }: StoredCrd) => ({
        ...object,
        metadata: { ...metadata, resourceVersion: undefined, uid: undefined },
      }),
    );
  const kubectl = (verb: string, objects: readonly object[]) =>
    must(world.fixture.controlPlane, [verb, '--validate=false', '-f', '-'], listed(objects));
  const crds = await get(`crd ${CRDS.join(' ')}`);
  const webhooks = await get('mutatingwebhookconfiguration');
  await world.run('delete mutatingwebhookconfiguration --all');
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const open = {
    subresources: undefined,
    additionalPrinterColumns: undefined,
    selectableFields: undefined,
    schema,
  };
  await kubectl(
    'replace',
    crds.map(({ spec, ...crd }) => ({
      ...crd,
      spec: { ...spec, versions: spec.versions.map((version) => ({ ...version, ...open })) },
    })),
  );
  return async () => {
    await kubectl('replace', crds);
    await kubectl('create', webhooks);
  };
}

test('an operator that starts on poisoned objects of each kind is Ready, and serves the others', async () => {
  process.kill(world.fixture.operator.process.pid, 'SIGKILL');
  const before = (await readFile(world.fixture.logFile, 'utf8')).length;
  const putBack = await openSchemas();
  const seeds = Array.from({ length: SEEDS }, (_, index) => index + Number(POISON_FIRST));
  const created = new Map<string, number>();
  for (const [kind, object] of healthy) {
    const input = listed(seeds.map((seed) => poisoned(object, seed * 7919)));
    // The API server refuses some of those of its own kinds.
    const verb = kind === 'lease' ? ['replace'] : ['create'];
    const { stdout } = await world.fixture.controlPlane.kubectl(
      [...verb, '--validate=false', '-o', 'name', '-f', '-'],
      { input },
    );
    created.set(kind, stdout.split('\n').filter(Boolean).length);
  }
  process.stderr.write(`poisoned objects: ${[...created].map((each) => each.join(' ')).join(', ')}\n`);
  expect([...created].filter(([, count]) => count === 0)).toEqual([]);
  await putBack();

  await world.fixture.operator.restart();
  // It waits for its turn behind the others.
  await world.apply(networkOf('later', `10.${world.nextRange()}.0.0/24`));
  await world.run(`wait network/later --for=condition=Ready --timeout=${30 + SEEDS}s`);
  await world.apply(podOn('after', { asked: 'later' }));
  expect((await world.pod('after')).metadata.annotations).toMatchObject({
    'k8s.v1.cni.cncf.io/networks': expect.stringContaining('later'),
  });
  expect(await world.run('get pod after -o jsonpath={.spec.containers[*].name}')).toContain('envoy');
  // Of the routes of a port, all apply or none: this one is alone.
  const path = { path: { type: 'PathPrefix', value: '/b' } };
  await world.apply(service('later'), route('HTTPRoute', 'later', path, 'later'));
  const accepted = '{.status.parents[0].conditions[?(@.type=="Accepted")].status}';
  await world.run(`wait httproute/later --for=jsonpath=${accepted}=True --timeout=${60 + SEEDS}s`);
  await world.untilGates('after');

  const log = (await readFile(world.fixture.logFile, 'utf8')).slice(before);
  const unforeseen =
    /"level":"fatal"|task failed|Cannot (read|set|convert)|is not (a function|iterable)|RangeError/;
  expect(log.split('\n').filter((line) => unforeseen.test(line))).toEqual([]);
  // What is wrong with a Network that is not Ready is said where its user looks, or where the administrator does.
  const networks = JSON.parse(await world.run('get network -o json')).items as readonly JsonObject[];
  const silent = networks.filter(({ metadata, status }) => {
    const { name, generation } = metadata as JsonObject;
    const conditions = isObject(status) && isArray(status.conditions) ? status.conditions : [];
    const isSaid = (each: JsonValue) =>
      isObject(each) && each.type === 'Ready' && each.observedGeneration === generation;
    return !(conditions.some(isSaid) || new RegExp(`Network.*${name}\\b`, 'i').test(log));
  });
  expect(silent.map(({ metadata }) => (metadata as JsonObject).name)).toEqual([]);
  await eventually(
    'the operator is ready',
    async () => (await fetch(`${world.fixture.operator.metricsUrl}/readyz`)).ok,
  );
});
