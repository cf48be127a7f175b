import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  ENFORCE_LABEL,
  ENFORCE_VERSION_LABEL,
  podSecurityOf,
  podSecurityViolations,
  STANDARD_CHANGES,
} from '../../../src/injection/podspec/pod-security.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { InjectionStage } from '../../support/injection/injection-stage.ts';
import { securedPods } from '../../support/injection/plausible-pods.ts';
import { MINOR } from '../../support/jest/since.ts';

/** Before, the API server drops these fields from new pods, so that it sees other pods (KEP-127, KEP-4639). */
const DROPPED = [
  [33, /"(procMount|hostUsers)":/],
  [35, /"image":\{/],
] as const;
const LEVELS = ['baseline', 'restricted'] as const;
/** Just before each change, and from it on. The newest are newer than the API server, but for the newest one. */
const minors = STANDARD_CHANGES.flatMap((change) => [change - 1, change]).filter((each) => each >= 0);
const versions = ['latest', ...[...new Set([...minors, 99])].map((each) => `v1.${each}`)];
let stage: InjectionStage;
const namespaceOf = (level: string, version: string) => `${level}-${version.replace('.', '-')}`;
const labelsOf = (level: string, version: string) => ({
  [ENFORCE_LABEL]: level,
  ...(version !== 'latest' && { [ENFORCE_VERSION_LABEL]: version }),
});

beforeAll(async () => {
  stage = await InjectionStage.start();
  const all = LEVELS.flatMap((level) => versions.map((version) => [level, version] as const));
  const entries = all.map(([level, version]) => [namespaceOf(level, version), labelsOf(level, version)]);
  await stage.namespaces(Object.fromEntries(entries));
}, 300_000);

afterAll(() => stage?.stop());

/** What the level `restricted` asks of a container. */
const RESTRICTED: JsonObject = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

function podOf(securityContext: JsonObject, spec: JsonObject = {}): JsonObject {
  const containers = [{ name: 'app', image: 'i', securityContext }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod' }, spec: { ...spec, containers } };
}

const withSysctl = (name: string) =>
  podOf(RESTRICTED, { securityContext: { sysctls: [{ name, value: '1' }] } });
const probe = { livenessProbe: { httpGet: { port: 80, host: 'h' } } };
/** What each version changes, a pod that no level refuses, and one that each does. */
const EXAMPLES: readonly JsonObject[] = [
  podOf(RESTRICTED),
  podOf({ privileged: true }),
  ...Object.keys(RESTRICTED).map((field) => {
    const { [field]: _, ...rest } = RESTRICTED;
    return podOf(rest);
  }),
  podOf({ ...RESTRICTED, runAsUser: 0 }),
  podOf({ ...RESTRICTED, seccompProfile: { type: 'Unconfined' } }),
  podOf({ ...RESTRICTED, seLinuxOptions: { type: 'container_engine_t' } }),
  podOf({ ...RESTRICTED, runAsUser: 0, runAsNonRoot: false }, { hostUsers: false }),
  podOf({ ...RESTRICTED, procMount: 'Unmasked' }, { hostUsers: false }),
  {
    ...podOf({}),
    spec: { containers: [{ name: 'app', image: 'i', securityContext: RESTRICTED, ...probe }] },
  },
  ...['ip_local_reserved_ports', 'tcp_fin_timeout', 'tcp_rmem', 'tcp_notsent_lowat'].map((name) =>
    withSysctl(`net.ipv4.${name}`),
  ),
  podOf(RESTRICTED, { volumes: [{ name: 'data', image: { reference: 'i' } }] }),
  {
    ...podOf({ ...RESTRICTED, seccompProfile: null }),
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

test('what each version of pod security changes is foreseen as the API server sees it', async () => {
  for (const level of LEVELS) {
    for (const version of versions) for (const pod of EXAMPLES) await compare(level, version, pod);
    expect(seen.get(level)?.refused).toBeGreaterThan(versions.length);
    expect(seen.get(level)?.taken).toBeGreaterThan(versions.length);
  }
}, 120_000);

test('pod security of each level and version is foreseen for generated pods', async () => {
  const where = fc.tuple(fc.constantFrom(...LEVELS), fc.constantFrom('latest', ...versions));
  await fc.assert(
    fc.asyncProperty(where, securedPods, ([level, version], pod) => compare(level, version, pod)),
    { numRuns: 600 },
  );
}, 120_000);
