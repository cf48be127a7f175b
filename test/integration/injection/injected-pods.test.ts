import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ENVOY_FILES } from '../../../src/injection/envoy/files.ts';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import {
  ENFORCE_LABEL,
  ENFORCE_VERSION_LABEL,
  podSecurityOf,
  podSecurityViolations,
  STANDARD_CHANGES,
} from '../../../src/injection/podspec/pod-security.ts';
import {
  createdPod,
  objectsOf,
  type PodSite,
  type PodTemplateRule,
  parseTemplatePath,
  podSites,
} from '../../../src/injection/podspec/workload.ts';
import { parseStatus } from '../../../src/injection/status.ts';
import { readTemplateFile } from '../../../src/injection/template/template-file.ts';
import { uninject } from '../../../src/injection/uninject.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../../src/util/json.ts';
import { readManifests } from '../../../src/util/manifests/parse.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { RICH_TEMPLATE } from '../../support/injection/arbitrary-pods.ts';
import { DEMO_TEMPLATE, decideInput, OPT_IN, STATUS, templateSet } from '../../support/injection/demo.ts';
import { metadataOf, specOf } from '../../support/injection/inject-checked.ts';
import { InjectionStage } from '../../support/injection/injection-stage.ts';
import { plausiblePods, CLEAN as RESTRICTED, securedPods } from '../../support/injection/plausible-pods.ts';
import { GOLDEN_TEMPLATE } from '../../support/jest/golden-case.ts';
import { MINOR } from '../../support/jest/since.ts';
import type { Admission } from '../../support/operator/admin-api.ts';

/** A namespace in which the API server asks no webhook: what comes there is what it makes of a pod by itself. */
const APART = 'kube-public';
const GOLDEN = join(projectDirectory(), 'test/golden/manifests');
const cases = (await readdir(GOLDEN)).sort();
let stage: InjectionStage;

beforeAll(async () => {
  stage = await InjectionStage.start();
  await stage.namespaces({ plain: {}, 'opted-in': { [OPT_IN]: 'true' } });
  for (const namespace of [APART, 'kube-system']) await stage.serviceAccount(namespace);
});

afterAll(() => stage?.stop());

/** What two pods of different namespaces cannot have in common, and what the server filled in before it asked. */
function comparable({ code, message, pod }: Admission): unknown {
  if (code !== 201) return { code, message: message.replaceAll(/\\?"[^"]*"/g, '""') };
  const { uid, creationTimestamp, namespace, managedFields, annotations, ...metadata } = metadataOf(pod);
  const status = parseStatus(ownString(annotations, STATUS));
  // What the API server had filled in before it asked is what `uninject` restores.
  const laidOver = status && { ...status, overlaid: Object.keys(status.overlaid), requests: undefined };
  return {
    spec: pod.spec,
    metadata,
    annotations: { ...(isObject(annotations) && annotations), [STATUS]: laidOver },
  };
}

let compared = 0;

test.each(cases)(
  'test/golden/manifests/%s is through the API server what it is through the command line',
  async (name) => {
    const read = (file: string) => readFile(join(GOLDEN, name, file), 'utf8').catch(() => '');
    const args = await read('args');
    const [input, expected] = [documents(await read('input.yaml')), documents(await read('expected.yaml'))];
    const [templates] = readTemplateFile((await read('template.yaml')) || GOLDEN_TEMPLATE);
    await stage.adopt(templates?.data ?? {});
    await stage.namespaces(namespacesOf(input));
    const rules = [...args.matchAll(/(\w+)\.([^\s/]+)\/?(\w+)?=(\S+)/g)].map(
      ([, kind = '', group = '', version, path = '']): PodTemplateRule => ({
        kind,
        group,
        version,
        path: parseTemplatePath(path) ?? [],
      }),
    );
    const byDefault = args.includes('--all') ? 'opted-in' : 'plain';
    const sites = input.flatMap((document) => [...podSites(document, rules)]);
    const golden = expected.flatMap((document) => [...podSites(document, rules)]);
    expect(golden).toHaveLength(sites.length);
    for (const [index, site] of sites.entries()) {
      const namespace = ownString(own(site.object, 'metadata'), 'namespace') ?? byDefault;
      const admitted = await stage.create(namespace, podOf(site));
      const want = await stage.create(APART, podOf(golden[index]));
      expect(comparable(admitted)).toEqual(comparable(want));
      if (admitted.code !== 201) continue;
      // And from there the way back.
      const back = uninject(admitted.pod, keysFor()) ?? admitted.pod;
      expect(comparable(await stage.create(APART, asNew(back)))).toEqual(
        comparable(await stage.create(APART, podOf(site))),
      );
      compared += 1;
    }
  },
);

test('there are golden cases to send through the API server', () => {
  expect(compared).toBeGreaterThan(25);
});

function documents(text: string): readonly JsonValue[] {
  try {
    return readManifests(text);
  } catch {
    return [];
  }
}

function namespacesOf(input: readonly JsonValue[]): Record<string, Record<string, string>> {
  const found = input
    .flatMap((document) => [...objectsOf(document)])
    .filter(([object]) => own(object, 'kind') === 'Namespace')
    .map(([{ metadata }]) => [ownString(metadata, 'name'), own(metadata, 'labels')]);
  return Object.fromEntries(found);
}

/** The pod that a workload's controller would create. */
function podOf(site: PodSite | undefined): JsonObject {
  return asNew(site ? createdPod(site.object, site.pod) : {});
}

function asNew({ metadata, spec }: JsonObject): JsonObject {
  const { labels = null, annotations = null } = (metadata ?? {}) as JsonObject;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod', labels, annotations },
    spec: spec ?? null,
  };
}

function plainPod(securityContext: JsonObject): JsonObject {
  const containers = [{ name: 'app', image: 'i', securityContext }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod' }, spec: { containers } };
}

/** Pods override its resources and its variable. */
const COUNTING_TEMPLATE = `
containers:
- name: envoy
  image: i
  env: [{name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]
  resources: {limits: {memory: 128Mi}, requests: {cpu: 100m, memory: 64Mi}}
`;

// biome-ignore format: a line for each case
test.each<[string, Readonly<Record<string, string>>]>([
  ['the template of the demo', { config: DEMO_TEMPLATE }],
  ['the template that comes with the operator', { config: DEFAULT_TEMPLATE_YAML }],
  ['a template with something of everything', { config: RICH_TEMPLATE }],
  ['a template with a variable from its resources', { config: COUNTING_TEMPLATE }],
  ['native sidecars, before all others', { config: RICH_TEMPLATE, options: 'position: first\nnativeSidecar: always' }],
])(
  'a generated pod is admitted with %s, and as the command line would make it',
  async (_, data) => {
    await stage.adopt(data);
    const state = { set: templateSet(data) };
    const namespaceLabels = { [OPT_IN]: 'true' };
    let injected = 0;
    await fc.assert(
      fc.asyncProperty(plausiblePods, async (pod) => {
        // Older API servers drop the resources of whole pods.
        if (MINOR < 34 && specOf(pod).resources !== undefined) return;
        const plain = await stage.create(APART, pod);
        if (plain.code !== 201) return;
        const result = inject(decideInput(pod, { state, namespaceLabels, envoyFiles: ENVOY_FILES }));
        const admitted = await stage.create('opted-in', pod);
        expect(admitted).toMatchObject({ code: 201, message: '' });
        const want = result.outcome === 'injected' ? await stage.create(APART, result.pod) : plain;
        expect(comparable(admitted)).toEqual(comparable(want));
        if (result.outcome === 'injected') injected += 1;
      }),
      // The first one is sure to be injected, so that it is never nothing that was compared.
      { numRuns: 40, examples: [[plainPod({})]] },
    );
    expect(injected).toBeGreaterThan(0);
  },
);

test('a number that no double holds survives the webhook', async () => {
  await stage.adopt({ config: DEMO_TEMPLATE });
  const pod = JSON.stringify(asNew({ spec: { containers: [{ name: 'app', image: 'i' }] } }));
  const large = pod.replace('"spec":{', '"spec":{"terminationGracePeriodSeconds":9007199254740993,');
  const { code, text, pod: admitted } = await stage.create('opted-in', large);
  expect(code).toBe(201);
  expect(specOf(admitted).containers).toHaveLength(2);
  expect(text).toContain('"terminationGracePeriodSeconds":9007199254740993');
});

/** Before, the API server drops these fields from new pods, so that it sees other pods (KEP-127, KEP-4639). */
const DROPPED = [
  [33, /"(procMount|hostUsers)":/],
  [35, /"image":\{/],
] as const;
const LEVELS = ['baseline', 'restricted'] as const;
/** Just before each change, and from it on. The newest are newer than the API server, but for the newest one. */
const minors = STANDARD_CHANGES.flatMap((change) => [change - 1, change]).filter((each) => each >= 0);
const versions = ['latest', ...[...new Set([...minors, 99])].map((each) => `v1.${each}`)];
const namespaceOf = (level: string, version: string) => `${level}-${version.replace('.', '-')}`;
const labelsOf = (level: string, version: string) => ({
  [ENFORCE_LABEL]: level,
  ...(version !== 'latest' && { [ENFORCE_VERSION_LABEL]: version }),
});

function podWith(securityContext: JsonObject, spec: JsonObject = {}): JsonObject {
  const containers = [{ name: 'app', image: 'i', securityContext }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod' }, spec: { ...spec, containers } };
}

const withSysctl = (name: string) =>
  podWith(RESTRICTED, { securityContext: { sysctls: [{ name, value: '1' }] } });
const probe = { livenessProbe: { httpGet: { port: 80, host: 'h' } } };
/** What each version changes, a pod that no level refuses, and one that each does. */
// biome-ignore format: a line for each case
const EXAMPLES: readonly JsonObject[] = [
  podWith(RESTRICTED),
  podWith({ privileged: true }),
  ...Object.keys(RESTRICTED).map((field) => {
    const { [field]: _, ...rest } = RESTRICTED;
    return podWith(rest);
  }),
  podWith({ ...RESTRICTED, runAsUser: 0 }),
  podWith({ ...RESTRICTED, seccompProfile: { type: 'Unconfined' } }),
  podWith({ ...RESTRICTED, seLinuxOptions: { type: 'container_engine_t' } }),
  podWith({ ...RESTRICTED, runAsUser: 0, runAsNonRoot: false }, { hostUsers: false }),
  podWith({ ...RESTRICTED, procMount: 'Unmasked' }, { hostUsers: false }),
  { ...podWith({}), spec: { containers: [{ name: 'app', image: 'i', securityContext: RESTRICTED, ...probe }] } },
  ...['ip_local_reserved_ports', 'tcp_fin_timeout', 'tcp_rmem', 'tcp_notsent_lowat'].map((name) =>
    withSysctl(`net.ipv4.${name}`),
  ),
  podWith(RESTRICTED, { volumes: [{ name: 'data', image: { reference: 'i' } }] }),
  {
    ...podWith({ ...RESTRICTED, seccompProfile: null }),
    metadata: { name: 'pod', annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' } },
  },
];

const seen = new Map<string, { refused: number; taken: number }>();

async function compare(level: string, version: string, pod: JsonObject): Promise<void> {
  if (DROPPED.some(([since, field]) => MINOR < since && field.test(JSON.stringify(pod)))) return;
  const { code, message } = await stage.create(namespaceOf(level, version), pod);
  if (code === 422) return;
  const violations = podSecurityViolations(pod, podSecurityOf(labelsOf(level, version), MINOR));
  expect({ level, version, violations, message }).toEqual(
    code === 201
      ? { level, version, violations: [], message: '' }
      : {
          level,
          version,
          violations: [expect.anything(), ...violations.slice(1)],
          message: expect.stringMatching(/violates PodSecurity/),
        },
  );
  const counts = seen.get(level) ?? { refused: 0, taken: 0 };
  counts[code === 201 ? 'taken' : 'refused'] += 1;
  seen.set(level, counts);
}

describe('pod security', () => {
  beforeAll(async () => {
    const all = LEVELS.flatMap((level) => versions.map((version) => [level, version] as const));
    const entries = all.map(([level, version]) => [namespaceOf(level, version), labelsOf(level, version)]);
    await stage.namespaces(Object.fromEntries(entries));
  }, 300_000);

  test('inject foresees what each version of pod security changes', async () => {
    for (const level of LEVELS) {
      for (const version of versions) for (const pod of EXAMPLES) await compare(level, version, pod);
      expect(seen.get(level)?.refused).toBeGreaterThan(versions.length);
      expect(seen.get(level)?.taken).toBeGreaterThan(versions.length);
    }
  }, 120_000);

  test('inject foresees each level and version of pod security for generated pods', async () => {
    const where = fc.tuple(fc.constantFrom(...LEVELS), fc.constantFrom('latest', ...versions));
    await fc.assert(
      fc.asyncProperty(where, securedPods, ([level, version], pod) => compare(level, version, pod)),
      { numRuns: 600 },
    );
  }, 120_000);
});
