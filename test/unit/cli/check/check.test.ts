import { expect, test } from '@jest/globals';
import { asNew, tryDryRun } from '../../../../src/cli/check/check-pod.ts';
import { formatReport } from '../../../../src/cli/check/check-report.ts';
import { workloadsIn } from '../../../../src/cli/check/check-target.ts';
import { failingContainers, missingInterfaces } from '../../../../src/cli/check/existing-pods.ts';
import { namespaceObjects } from '../../../../src/cli/namespace-objects.ts';
import { inject } from '../../../../src/injection/inject.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { ApiError, apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { type JsonObject, ownObject } from '../../../../src/util/json.ts';
import { decideInput, demoPod, templateSet } from '../../../support/injection/demo.ts';
import { injectChecked } from '../../../support/injection/inject-checked.ts';
import { newNetwork } from '../../networks/networks.ts';

/** What a dry run of the demo's pod says, if the API server answers so. */
async function reported(answer: () => unknown, set = templateSet(), promoted?: TemplateSet) {
  const client = { request: async () => answer() } as unknown as KubeClient;
  const state = { set };
  const input = decideInput(demoPod(), { state });
  const basis = {
    client,
    objects: namespaceObjects(client, 'envoy-initializer'),
    promoted,
    dryRun: { prove: () => Promise.reject(new Error('expected no proof')) },
    namespace: 'default',
    decideOptions: input.options,
    state,
    webhooks: undefined,
    policies: false,
    exists: false,
  };
  return await tryDryRun(demoPod(), inject(input), { namespaceLabels: {} }, basis);
}

/** The findings if the API server refuses the pod so. */
async function findingsOf(kind: string, ...fields: readonly string[]) {
  const causes = fields.map((field) => ({ reason: 'FieldValueInvalid', field, message: 'no' }));
  const { findings } = await reported(() => {
    throw apiErrorFrom(422, { message: 'refused', details: { kind, causes } });
  });
  return findings.map(({ message }) => message);
}

const [first, target] = ['old', 'new'].map((image) =>
  templateSet({ config: `containers: [{name: envoy, image: "${image}"}]` }),
);
const admitted = () => injectChecked(decideInput(demoPod(), { state: { set: first ?? templateSet() } })).pod;

test('check expects the promoted template of a pod while a rollout is under way', async () => {
  expect(await reported(admitted, target, first)).toEqual({
    text: 'accepted with the sidecar of the promoted template: envoy-initializer rollout shows the new one',
    findings: [],
  });
});

test('check finds that a pod is admitted with another template than that of the ConfigMap', async () => {
  expect(await reported(admitted, target)).toMatchObject({ findings: [{ reason: 'webhook-behind' }] });
  expect(await reported(admitted, first)).toEqual({ text: 'accepted with the sidecar', findings: [] });
});

test('check takes a sidecar whose status another webhook removes for no missing sidecar', async () => {
  const { metadata: _, ...admitted } = injectChecked(
    decideInput(demoPod(), { state: { set: templateSet() } }),
  ).pod;
  expect(await reported(() => admitted)).toMatchObject({ findings: [{ reason: 'no-status' }] });
  expect(await reported(() => demoPod())).toMatchObject({ findings: [{ reason: 'webhook-silent' }] });
});

test('check creates a copy of a pod without what only others may write', () => {
  const spec = ownObject(demoPod(), 'spec');
  const debugged = { ...spec, nodeName: 'n', ephemeralContainers: [{ name: 'debugger' }] };
  const copy = (metadata: JsonObject) => asNew({ metadata, spec: debugged });
  const networks = (args: string) => ({ annotations: { 'k8s.v1.cni.cncf.io/networks': `[{${args}}]` } });
  const port = networks('"cni-args":{"a":1,"OvnPort":"5f"}');
  expect(copy({ ...port, uid: '1' })).toMatchObject({ metadata: networks('"cni-args":{"a":1}') });
  // That of a workload is its author's.
  expect(copy(port)).toMatchObject({ metadata: port });
  expect(copy({}).spec).toEqual(spec);
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'a' } };
  expect(copy(mirror)).toMatchObject({ metadata: mirror, spec: { nodeName: 'n' } });
});

test('check of all workloads leaves out finished pods', async () => {
  const asked = new Map<string, object>();
  const list = async ({ kind }: { readonly kind: string }, selection: object) =>
    asked.set(kind, selection) && { items: [] };
  for await (const _ of workloadsIn({ list } as unknown as KubeClient, {}));
  expect(asked.get('Pod')).toEqual({ fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed' });
  expect(asked.get('Job')).toEqual({});
});

test('check names what of the template the API server refuses in a dry run', async () => {
  const fields = ['spec.containers[1].image', 'spec.volumes[0].configMap', 'spec.containers[0].image'];
  expect(await findingsOf('Pod', ...fields)).toEqual(["refused (the template's envoy, envoy-conf)"]);
});

test.each<[string, string, readonly string[]]>([
  ['for a field of the pod', 'Pod', ['spec.containers[0].image']],
  ['by a policy', 'pods', []],
])('check blames no template for a dry run that is refused %s', async (_, kind, fields) => {
  expect(await findingsOf(kind, ...fields)).toEqual(['refused']);
});

test('formatReport names the first pods and counts the others', () => {
  const pods = Array.from({ length: 14 }, (_, i) => {
    return { name: `web-${i}`, sidecar: i < 12 ? ('current' as const) : ('absent' as const) };
  });
  const lines = formatReport({
    object: 'deployment/web',
    namespace: 'default',
    decision: 'inject',
    askedBy: 'the annotation x of the pod',
    because: [],
    templates: [],
    pods,
    findings: [],
  });
  expect(lines.slice(3)).toEqual([
    '  pods      web-0: current',
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((i) => `            web-${i}: current`),
    '            and 3 more: current',
    '            and 2 more: absent',
    '  no problems found',
  ]);
});

const injected = injectChecked(decideInput(demoPod())).pod;
const found = (status: JsonObject) =>
  failingContainers([{ ...injected, status }], keysFor()).map(({ message }) => message);
const waiting = (name: string, reason: string, terminated?: JsonObject) => ({
  name,
  state: { waiting: { reason } },
  ...(terminated && { lastState: { terminated } }),
});

test('check names an init container that fails, with its last words', () => {
  const message = 'annotation x: "a" is not a port';
  expect(
    found({
      initContainerStatuses: [
        waiting('envoy-capture', 'CrashLoopBackOff', { exitCode: 1, message: `${message}\n` }),
      ],
    }),
  ).toEqual([
    `pod myapp-pod: container envoy-capture cannot run: CrashLoopBackOff; ended with exit code 1: ${message}`,
  ]);
  expect(
    found({
      initContainerStatuses: [
        { name: 'i', state: { terminated: { exitCode: 2, reason: 'Error', message } } },
      ],
    }),
  ).toEqual([`pod myapp-pod: container i cannot run: ended with exit code 2: ${message}`]);
});

test('check names a sidecar that fails, and leaves the application to its author', () => {
  const status = {
    containerStatuses: [waiting('myapp-container', 'ErrImagePull'), waiting('envoy', 'ErrImagePull')],
  };
  expect(found(status)).toEqual(['pod myapp-pod: container envoy cannot run: ErrImagePull']);
});

test('check says of a log of Envoy only what stopped it, with the remedy', () => {
  const message = `rver.cc:1] ${'x'.repeat(4000)}\n[1][critical] bind '0.0.0.0:80': Address already in use\nexiting\n`;
  const terminated = { exitCode: 1, reason: 'Error', message };
  for (const envoy of [
    waiting('envoy', 'CrashLoopBackOff', terminated),
    { name: 'envoy', state: { terminated } },
  ])
    expect(found({ containerStatuses: [envoy] })).toEqual([
      expect.stringMatching(
        /run: (CrashLoopBackOff; )?ended with exit code 1: bind '0.0.0.0:80': Address already in use; move the application .{30,60}$/,
      ),
    ]);
});

const status = { status: 404, reason: 'NotFound', message: '', retryAfterMs: undefined, causes: [] };
const client = {
  get: async (_: unknown, { name }: { readonly name: string }) => {
    if (name !== 'blue') throw new ApiError(status);
    return newNetwork();
  },
} as unknown as KubeClient;

const running = (annotations: Readonly<Record<string, string>>): JsonObject => ({
  metadata: { name: 'p', namespace: 'red', annotations },
  spec: { nodeName: 'n1' },
  status: { phase: 'Running', podIP: '10.244.0.9' },
});

test('check finds a pod that runs without its interface on a Network', async () => {
  const pod = running({ 'k8s.v1.cni.cncf.io/networks': 'blue, some-nad' });
  expect(await missingInterfaces(client, [pod])).toEqual([
    {
      reason: 'interface-missing',
      message: expect.stringMatching(/^pod p runs without its interface on Network red\/blue, /),
    },
  ]);
});

test('check has no finding for a pod with its interface', async () => {
  const attached = JSON.stringify([{ name: 'red/blue', interface: 'net1' }]);
  const pod = running({ 'samplecrd.k8s.io/network': 'blue', 'k8s.v1.cni.cncf.io/network-status': attached });
  expect(await missingInterfaces(client, [pod])).toEqual([]);
});
