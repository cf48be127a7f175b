import { afterAll, beforeAll, expect } from '@jest/globals';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { POD_SHAPES, shapeFields } from '../../../src/injection/template/pod-shapes.ts';
import { parseTemplateConfigMap, type TemplateSet } from '../../../src/injection/template/template-set.ts';
import { createTemplateHandler } from '../../../src/injection/webhook/config-map-handlers.ts';
import { templateDryRun } from '../../../src/injection/webhook/template-dry-run.ts';
import { NAMESPACES } from '../../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { type DryRun, dryRunPod } from '../../../src/kube/client/dry-run.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { podRequest } from '../../support/injection/admission-review.ts';
import { decideInput, podWith } from '../../support/injection/demo.ts';
import {
  RICH_TEMPLATE,
  type TemplateFault,
  templateFaults,
} from '../../support/injection/template-faults.ts';
import { since } from '../../support/jest/since.ts';
import { capturedLog } from '../../support/kube/captured-log.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';

/** `make oracle` sets more; ORACLE_SEED=… takes others. */
const COUNT = Number(process.env.ORACLE_FAULTS ?? 150);
const SEED = Number(process.env.ORACLE_SEED ?? 1);
const HOME = 'envoy-initializer';

let controlPlane: ControlPlane;
let api: ApiAccess;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  api = connect(controlPlane.kubeconfigPath);
  await api.client.create(NAMESPACES, { metadata: { name: HOME } } as never);
  for (const namespace of [HOME, 'default']) await serviceAccount(controlPlane, namespace);
});

afterAll(async () => {
  await api?.close();
  await controlPlane?.stop();
});

const keys = keysFor();

/** The templates as they would be adopted; or who refuses them. */
async function adopted(
  client: KubeClient,
  template: JsonObject,
): Promise<TemplateSet | 'lint' | 'API server'> {
  const data = { config: JSON.stringify(template) };
  const parsed = parseTemplateConfigMap(data);
  if ('faults' in parsed) return 'lint';
  const dryRun = templateDryRun(client, systemClock, keys, HOME);
  const handler = createTemplateHandler({
    namespace: HOME,
    configMap: 'template',
    dryRun,
    forecast: () => undefined,
    log: capturedLog().log,
  });
  const { signal } = new AbortController();
  const request = podRequest({
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    namespace: HOME,
    name: 'template',
    object: { metadata: { name: 'template' }, data },
  });
  const answer = await handler(request, signal);
  return answer.allowed ? (await dryRun.prove(parsed.set, 10_000, signal)).set : 'API server';
}

/** Fields of pods that the API server checks together with those of a template. */
const PODS: readonly JsonObject[] = [
  {},
  ...POD_SHAPES.map(shapeFields),
  { hostPID: true },
  { shareProcessNamespace: true },
  { terminationGracePeriodSeconds: 0 },
  { restartPolicy: 'Never', activeDeadlineSeconds: 60 },
  { dnsPolicy: 'None', dnsConfig: { nameservers: ['10.0.0.1'] } },
  { resources: { limits: { cpu: 4, memory: '4Gi' } } },
  { securityContext: { runAsUser: 0, runAsNonRoot: false, fsGroup: 1, supplementalGroups: [1] } },
  { securityContext: { seLinuxOptions: { type: 't' }, appArmorProfile: { type: 'Unconfined' } } },
];

/** What the API server says about a pod with these fields, as the webhook leaves it. */
async function answerTo(set: TemplateSet, fields: JsonObject): Promise<DryRun> {
  const pod = podWith(fields);
  const injection = inject(decideInput(pod, { state: { set } }));
  return await dryRunPod(api.client, 'default', injection.outcome === 'injected' ? injection.pod : pod);
}

interface Judged {
  readonly fault: string;
  readonly refusedBy: string | undefined;
  /** What the API server refuses all the same. */
  readonly missed: readonly string[];
}

async function judge({ name, template }: TemplateFault): Promise<Judged> {
  const set = await adopted(api.client, template);
  if (typeof set === 'string') return { fault: name, refusedBy: set, missed: [] };
  const missed: string[] = [];
  for (const fields of PODS) {
    const answer = await answerTo(set, fields);
    if (!answer.accepted) missed.push(`${JSON.stringify(fields)}: ${answer.error.message}`);
  }
  return { fault: name, refusedBy: undefined, missed };
}

/** Older API servers do not have all fields of the rich template. */
const NEWEST_FIELD = 36;
const { test } = since(NEWEST_FIELD);

test(`the rich template is accepted by the API server, with every shape (since 1.${NEWEST_FIELD})`, async () => {
  expect(await judge({ name: 'none', template: RICH_TEMPLATE })).toEqual({
    fault: 'none',
    refusedBy: undefined,
    missed: [],
  });
});

test(`none of ${COUNT} faulty templates is adopted whose pods are refused (since 1.${NEWEST_FIELD})`, async () => {
  const judged: Judged[] = [];
  for (const fault of templateFaults(COUNT, SEED)) judged.push(await judge(fault));
  expect(judged.filter(({ missed }) => missed.length > 0)).toEqual([]);
  const countOf = (by: string | undefined) => judged.filter(({ refusedBy }) => refusedBy === by).length;
  const counts = { lint: countOf('lint'), server: countOf('API server'), adopted: countOf(undefined) };
  process.stderr.write(`${JSON.stringify(counts)}\n`);
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(COUNT / 50);
}, 3_600_000);
