import { expect, test } from '@jest/globals';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { containers } from '../../../src/injection/podspec/pod.ts';
import { uninject } from '../../../src/injection/uninject.ts';
import { formatDiagnostic } from '../../../src/util/diagnostic.ts';
import { type JsonObject, own } from '../../../src/util/json.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  podWith,
  templateSet,
  withMisfit,
} from '../../support/injection/demo.ts';
import { injectChecked, specOf } from '../../support/injection/inject-checked.ts';

const enforce = (level: string) => ({ namespaceLabels: { 'pod-security.kubernetes.io/enforce': level } });
const state = (config: string, options = '') => ({ state: { set: templateSet({ config, options }) } });

const RESTRICTED = `
securityContext:
  allowPrivilegeEscalation: false
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}`.replaceAll('\n', '\n    ');
const restricted = `containers:\n  - name: envoy\n    image: i${RESTRICTED}`;

const refused = (input: ReturnType<typeof decideInput>) => {
  const result = inject(input);
  return result.outcome === 'injected'
    ? []
    : [result.skip.reason, ...result.skip.diagnostics.map(formatDiagnostic)];
};

const sleeping = (hook: string) =>
  state(`containers: [{name: envoy, image: i, lifecycle: {${hook}: {sleep: {seconds: 5}}}}]`);
const ending = (terminationGracePeriodSeconds: number) => podWith({ terminationGracePeriodSeconds });

test('a pod with a short grace period does not get a sidecar whose postStart hook sleeps longer', () => {
  expect(refused(decideInput(ending(4), sleeping('postStart')))).toEqual([
    'grace-period',
    "the postStart hook of container envoy sleeps for 5 seconds, but the pod's terminationGracePeriodSeconds is 4: set it to 5 or more",
  ]);
  injectChecked(decideInput(ending(5), sleeping('postStart')));
});

test.each([
  [5, { preStop: { sleep: { seconds: 5 } } }],
  [4, { preStop: { sleep: { seconds: 3 } } }],
  [2, { preStop: { sleep: { seconds: 1 } } }],
  [1, undefined],
  [0, undefined],
])('a pod with a grace period of %s seconds gets a preStop hook that ends before', (seconds, lifecycle) => {
  const { pod } = injectChecked(decideInput(ending(seconds), sleeping('preStop')));
  expect(own(containers(pod)[1], 'lifecycle')).toEqual(lifecycle);
});

test('a pod with a short grace period keeps the other hook of its sidecar', () => {
  const both = 'lifecycle: {postStart: {exec: {command: [a]}}, preStop: {sleep: {seconds: 5}}}';
  const template = state(`containers: [{name: envoy, image: i, ${both}}]`);
  const { pod } = injectChecked(decideInput(ending(1), template));
  expect(own(containers(pod)[1], 'lifecycle')).toEqual({ postStart: { exec: { command: ['a'] } } });
});

test('a pod has a grace period of 30 seconds by default', () => {
  const long = state('containers: [{name: envoy, image: i, lifecycle: {preStop: {sleep: {seconds: 31}}}}]');
  const { pod } = injectChecked(decideInput(demoPod(), long));
  expect(own(containers(pod).at(-1), 'lifecycle')).toEqual({ preStop: { sleep: { seconds: 29 } } });
});

test('a pod with a short grace period gets a sidecar that sleeps less than the pod’s own containers', () => {
  const lifecycle = { preStop: { sleep: { seconds: 9 } } };
  const asking = podWith({
    terminationGracePeriodSeconds: 6,
    containers: [{ name: 'app', image: 'a', lifecycle }],
  });
  injectChecked(decideInput(asking, sleeping('preStop')));
});

test('a namespace at the level restricted does not get the sidecar of the demo', () => {
  const says = 'the namespace enforces restricted pod security: container envoy';
  expect(refused(decideInput(demoPod(), enforce('restricted')))).toEqual([
    'pod-security',
    `${says} must set allowPrivilegeEscalation to false`,
    `${says} must drop ALL capabilities`,
    `${says} must set a seccompProfile`,
    `${says} must set runAsNonRoot to true`,
  ]);
});

test.each(['privileged', 'baseline', 'unknown'])(
  'a pod in a namespace that enforces pod security at the level %s gets the sidecar of the demo',
  (level) => {
    injectChecked(decideInput(demoPod(), enforce(level)));
  },
);

test('a pod in a namespace that enforces pod security gets a restricted sidecar', () => {
  injectChecked(decideInput(demoPod(), { ...enforce('restricted'), ...state(restricted) }));
});

test('pod security uses the settings of the pod for what the sidecar does not set', () => {
  const less = restricted.replace('runAsNonRoot: true', '').replace(/seccompProfile.*/, '');
  const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
  injectChecked(decideInput(podWith({ securityContext }), { ...enforce('restricted'), ...state(less) }));
  injectChecked(
    decideInput(demoPod(), {
      ...enforce('restricted'),
      ...state(
        `${less}\nsecurityContext: {runAsNonRoot: true, seccompProfile: {type: Localhost, localhostProfile: p}}`,
      ),
    }),
  );
});

test('pod security has the rules of the version of its label, of the API server, and of none newer', () => {
  const root = restricted.replace('runAsNonRoot: true', 'runAsUser: 0');
  const own = podWith({ hostUsers: false });
  const outcome = (version: string | undefined, serverMinor?: number) =>
    inject(
      decideInput(own, {
        namespaceLabels: {
          'pod-security.kubernetes.io/enforce': 'restricted',
          ...(version !== undefined && { 'pod-security.kubernetes.io/enforce-version': version }),
        },
        serverMinor,
        ...state(root),
      }),
    ).outcome;
  for (const version of [undefined, 'latest', 'v1.35', 'v1.99', 'v2.0', 'v1.034', '1.34'])
    expect([version, outcome(version)]).toEqual([version, 'injected']);
  for (const version of ['v1.34', 'v1.9', 'v1.0'])
    expect([version, outcome(version)]).toEqual([version, 'skipped']);
  for (const version of [undefined, 'latest', 'v1.35', 'v1.99'])
    expect([outcome(version, 34), outcome(version, 35)]).toEqual(['skipped', 'injected']);
  expect(outcome('v1.34', 36)).toBe('skipped');
});

const envoy = (more: string) => `containers: [{name: envoy, image: i, ${more}}]`;
const context = (more: string) => envoy(`securityContext: {${more}}`);
// biome-ignore format: a line for each case
test.each([
  ['baseline', 'envoy: be privileged', context('privileged: true')],
  ['baseline', 'envoy: add the capability NET_ADMIN', context('capabilities: {add: [CHOWN, NET_ADMIN]}')],
  ['baseline', 'envoy: set procMount', context('procMount: Unmasked')],
  ['baseline', 'envoy: set seccompProfile to Unconfined', context('seccompProfile: {type: Unconfined}')],
  ['baseline', 'envoy: set appArmorProfile to Unconfined', context('appArmorProfile: {type: Unconfined}')],
  ['baseline', 'container envoy sets forbidden seLinuxOptions', context('seLinuxOptions: {type: spc_t}')],
  ['baseline', 'container envoy sets forbidden seLinuxOptions', context('seLinuxOptions: {user: u}')],
  ['baseline', 'envoy: use a hostPort', envoy('ports: [{containerPort: 1, hostPort: 1}]')],
  ['baseline', 'envoy: set the host of a probe or hook', envoy('livenessProbe: {tcpSocket: {port: 1, host: h}}')],
  ['baseline', 'envoy: set the host of a probe or hook', envoy('lifecycle: {preStop: {httpGet: {port: 1, host: h}}}')],
  ['baseline', 'container i must not be privileged', 'initContainers: [{name: i, image: i, securityContext: {privileged: true}}]'],
  ['baseline', 'volume v must not be a hostPath', 'volumes: [{name: v, hostPath: {path: /}}]'],
  ['baseline', 'the pod must not set the sysctl kernel.msgmax', 'securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}'],
  ['baseline', 'the pod must not set seccompProfile to Unconfined', 'securityContext: {seccompProfile: {type: Unconfined}}'],
  ['restricted', 'volume v has a type that is not allowed', 'volumes: [{name: v, nfs: {server: s, path: /}}]'],
  ['restricted', 'the pod must not set runAsUser to 0', 'securityContext: {runAsUser: 0}'],
  ['restricted', 'the pod must not set runAsNonRoot to false', 'securityContext: {runAsNonRoot: false}'],
  ['restricted', 'envoy: add the capability CHOWN', restricted.replace('drop: [ALL]', 'drop: [ALL], add: [CHOWN]')],
])('pod security at the level %s refuses: %s', (level, told, config) => {
  const message = told.replace('envoy:', 'container envoy must not');
  expect(refused(decideInput(demoPod(), { ...enforce(level), ...state(config) }))).toEqual([
    'pod-security',
    `the namespace enforces ${level} pod security: ${message}`,
  ]);
});

test('pod security does not skip a pod that already violates the level itself', () => {
  const own = podWith({ volumes: [{ name: 'host', hostPath: { path: '/' } }] });
  injectChecked(decideInput(own, enforce('baseline')));
});

const container = (resources: JsonObject): JsonObject => ({ name: 'app', image: 'a', resources });
const pod = (resources: JsonObject, more: JsonObject = {}) =>
  podWith({ containers: [container({ requests: { cpu: '200m', memory: '64Mi' } })], resources, ...more });

test('a pod whose resources leave room for the sidecar gets it', () => {
  injectChecked(
    decideInput(pod({ requests: { cpu: '300m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } })),
  );
  injectChecked(decideInput(pod({})));
  injectChecked(decideInput(pod({ requests: { 'example.com/gpu': '1' } })));
});

// biome-ignore format: a line for each case
test.each<[string, JsonObject, string]>([
  ['requests', pod({ requests: { cpu: '299m' } }), 'the containers would request more than spec.resources.requests.cpu, which is 299m'],
  ['memory', pod({ requests: { memory: '127Mi' } }), 'the containers would request more than spec.resources.requests.memory, which is 127Mi'],
  ['limits', pod({ limits: { cpu: '999m' } }), 'the limit of container envoy is higher than spec.resources.limits.cpu, which is 999m'],
  [
    'requests of a pod that finishes, whose sidecar runs beside its init containers',
    pod(
      { requests: { cpu: '1' } },
      {
        restartPolicy: 'Never',
        initContainers: [
          { name: 'a', image: 'i' },
          { ...container({ requests: { cpu: '750m' } }), name: 'native', restartPolicy: 'Always' },
        ],
      },
    ),
    'the containers would request more than spec.resources.requests.cpu, which is 1',
  ],
])('a pod that does not leave room for the sidecar in its %s does not get it', (_, input, message) => {
  expect(refused(decideInput(input))).toEqual(['pod-resources', message]);
});

const both = (cpu: string, memory: string) => ({ cpu, memory });
test.each<[string, JsonObject, JsonObject, JsonObject, JsonObject | undefined]>([
  [
    'that the API server filled in grows by the sidecar',
    { requests: both('200m', '64Mi'), limits: both('2', '1Gi') },
    { requests: both('300m', '131072Ki'), limits: both('2', '1Gi') },
    both('200m', '64Mi'),
    undefined,
  ],
  [
    'grows also where only the other resource has a limit',
    { requests: both('200m', '64Mi'), limits: { cpu: '2' } },
    { requests: both('300m', '131072Ki'), limits: { cpu: '2' } },
    both('200m', '64Mi'),
    undefined,
  ],
  [
    'that is more than the containers request stays',
    { requests: both('1', '1Gi'), limits: both('2', '2Gi') },
    { requests: both('1', '1Gi'), limits: both('2', '2Gi') },
    {},
    undefined,
  ],
  [
    'that is missing stays so, where the API server will fill in the sum',
    { limits: both('2', '1Gi') },
    { limits: both('2', '1Gi') },
    {},
    undefined,
  ],
  [
    'that would be the limit without the sidecar is written down',
    { limits: both('2', '1Gi') },
    { limits: both('2', '1Gi'), requests: both('2', '1Gi') },
    { cpu: null, memory: null },
    {},
  ],
  [
    'of which only one is missing',
    { limits: both('2', '1Gi'), requests: { memory: '1Gi' } },
    { limits: both('2', '1Gi'), requests: both('2', '1Gi') },
    { cpu: null },
    {},
  ],
])('a request of a whole pod %s', (_, resources, want, before, apps) => {
  const input = apps ? podWith({ containers: [container(apps)], resources }) : pod(resources);
  const { pod: injected, status } = injectChecked(decideInput(input));
  expect(specOf(injected).resources).toEqual(want);
  expect(status.requests).toEqual(before);
  expect(uninject(injected, keysFor())).toEqual(input);
});

test('a request of a whole pod does not grow above its limit', () => {
  const [reason, message] = refused(
    decideInput(
      pod({ requests: { cpu: '200m' }, limits: { cpu: '299m' } }),
      state('containers: [{name: envoy, image: i, resources: {requests: {cpu: 100m}}}]'),
    ),
  );
  expect([reason, message]).toEqual([
    'pod-resources',
    'the containers would request more than spec.resources.requests.cpu, which is 200m',
  ]);
});

test('a pod with resources of its own uses limits for missing requests, as the API server does', () => {
  const limited = state('containers: [{name: envoy, image: i, resources: {limits: {cpu: 200m}}}]');
  expect(refused(decideInput(pod({ requests: { cpu: '399m' } }), limited))[0]).toBe('pod-resources');
  injectChecked(decideInput(pod({ requests: { cpu: '400m' } }), limited));
});

test('a pod with resources of its own is not skipped if it requests too much without the sidecar', () => {
  injectChecked(decideInput(pod({ requests: { cpu: '100m' } })));
});

test('a pod needs room for init containers only beside what starts before them', () => {
  const init = { ...container({ requests: { cpu: '300m' } }), name: 'init' };
  const ending = pod({ requests: { cpu: '300m' } }, { restartPolicy: 'Never', initContainers: [init] });
  injectChecked(decideInput(ending));
  expect(refused(decideInput(ending, state(DEMO_TEMPLATE, 'position: first')))[0]).toBe('pod-resources');
});

const misfit = (options = '') => ({
  state: { set: withMisfit(templateSet({ config: DEMO_TEMPLATE, options })) },
});
const once = podWith({ restartPolicy: 'Never' });

test('a pod of a shape that the API server refuses stays without a sidecar, and others get it', () => {
  expect(refused(decideInput(once, misfit()))).toEqual([
    'conflict',
    'the API server refuses template config in pods with spec.restartPolicy: Never: containers[0].x: no',
  ]);
  injectChecked(decideInput(demoPod(), misfit()));
  injectChecked(decideInput(podWith({ restartPolicy: 'OnFailure' }), misfit()));
});

test('a pod of a shape that the API server refuses with the template is rejected if conflicts are', () => {
  expect(inject(decideInput(once, misfit('onConflict: deny'))).outcome).toBe('denied');
});
