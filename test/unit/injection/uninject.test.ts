import { expect, test } from '@jest/globals';
import { keysFor } from '../../../src/injection/keys.ts';
import type { NamespaceSettings } from '../../../src/injection/namespace-settings.ts';
import { uninject } from '../../../src/injection/uninject.ts';
import { sidecarState } from '../../../src/injection/webhook/classify.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  STATUS,
  templateSet,
} from '../../support/injection/demo.ts';
import { injectChecked, metadataOf, namesOf, specOf } from '../../support/injection/inject-checked.ts';

const KEYS = keysFor();
const app: JsonObject = { name: 'app', image: 'busybox' };

/** What `uninject` makes of a pod that has this status. */
function uninjected(status: JsonObject, spec: JsonObject, metadata: JsonObject = {}) {
  const annotations = { [STATUS]: JSON.stringify({ version: 1, ...status }) };
  const given = {
    labels: {},
    ...metadata,
    annotations: { ...(metadata.annotations as object), ...annotations },
  };
  return uninject({ metadata: given, spec: { containers: [app], ...spec } }, KEYS);
}

test('uninject returns the pod of the demo as it was written', () => {
  expect(uninject(injectChecked(decideInput(demoPod())).pod, KEYS)).toEqual(demoPod());
});

test('uninject keeps later changes', () => {
  const { pod } = injectChecked(decideInput(demoPod()));
  const spec = specOf(pod);
  const changed = {
    ...pod,
    spec: {
      ...spec,
      containers: [...(spec.containers as JsonObject[]), { name: 'debug', image: 'busybox' }],
      volumes: [...(spec.volumes as JsonObject[]), { name: 'mine', emptyDir: {} }],
    },
  };
  const back = uninject(changed, KEYS) ?? {};
  expect(namesOf(specOf(back).containers)).toEqual(['myapp-container', 'debug']);
  expect(specOf(back).volumes).toEqual([{ name: 'mine', emptyDir: {} }]);
});

test.each<[string, string | undefined]>([
  ['without a status', undefined],
  ['with a status that is not JSON', '{'],
  ['with a status of another version', '{"version":2}'],
])('uninject does not change a pod %s', (_, status) => {
  const pod = podWith({}, { annotations: status === undefined ? {} : { [STATUS]: status } });
  expect(uninject(pod, KEYS)).toBeUndefined();
});

// biome-ignore format: a line for each case
test.each<[string, JsonObject]>([
    ['that takes all containers', { added: { containers: ['app'] } }],
    ['that moves all containers', { overlaid: { app: { ...app, image: 'auto' } }, moved: { app: { list: 'initContainers', index: 0 } } }],
  ])('uninject does not change a pod with a status %s', (_, status) => {
    const annotations = { [STATUS]: JSON.stringify({ version: 1, templates: [], ...status }) };
    expect(uninject(podWith({ containers: [app] }, { annotations }), KEYS)).toBeUndefined();
  });

test('uninject does not replace a container by one that overrides nothing', () => {
  const overlaid = { app: { name: 'app', image: 'forged' }, other: 'auto' };
  const annotations = {
    [STATUS]: JSON.stringify({ version: 1, added: { containers: ['envoy'] }, overlaid }),
  };
  const containers = [app, { name: 'envoy', image: 'i' }, { name: 'other', image: 'o' }];
  const back = uninject(podWith({ containers }, { annotations }), KEYS) ?? {};
  expect(specOf(back).containers).toEqual([app, { name: 'other', image: 'o' }]);
});

test("uninject restores a container that another template's variables were added to", () => {
  const set = templateSet({
    config: `${DEMO_TEMPLATE}env: [{name: B, value: b}]`,
    'config.second': 'containers: [{name: helper, image: helper}]',
  });
  const annotations = { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoy-templates': 'config,second' };
  const pod = podWith({ containers: [app, { name: 'helper', image: 'auto' }] }, { annotations });
  const { pod: injected } = injectChecked(decideInput(pod, { state: { set } }));
  expect(uninject(injected, KEYS)).toEqual(pod);
});

test('uninject returns a pod whose containers share a name, of which the first gets the additions', () => {
  const set = templateSet({ config: 'env: [{name: A, value: a}]\ncontainers: [{name: envoy, image: i}]' });
  const pod = podWith({ containers: [app, { ...app }] });
  const { pod: injected } = injectChecked(decideInput(pod, { state: { set } }));
  expect(specOf(injected).containers).toMatchObject([{ env: [{ name: 'A' }] }, app, { name: 'envoy' }]);
  expect((specOf(injected).containers as JsonObject[])[1]).toEqual(app);
  expect(uninject(injected, KEYS)).toEqual(pod);
});

test('uninject removes the named items of each list, and the list if it becomes empty', () => {
  const spec = (more: boolean) => ({
    containers: [app, ...(more ? [{ name: 'envoy', image: 'i' }] : [])],
    initContainers: [{ name: 'setup', image: 'i' }, ...(more ? [{ name: 'init', image: 'i' }] : [])],
    imagePullSecrets: [...(more ? [{ name: 'a' }, { name: 'b' }] : []), { name: 'mine' }],
    hostAliases: [{ ip: '10.0.0.1' }, ...(more ? [{ ip: '10.0.0.2' }] : [])],
    ...(more && { volumes: [{ name: 'v' }] }),
  });
  const added = {
    containers: ['envoy'],
    initContainers: ['init'],
    volumes: ['v'],
    imagePullSecrets: ['a', 'b'],
    hostAliases: ['10.0.0.2'],
  };
  expect(uninjected({ added }, spec(true))?.spec).toEqual(spec(false));
});

test('uninject removes the named fields of each map, and the map if it becomes empty', () => {
  const added = {
    securityContext: ['runAsUser', 'fsGroup'],
    dnsConfig: ['options'],
    labels: ['team'],
    annotations: ['note'],
  };
  const spec = {
    securityContext: { runAsUser: 1, fsGroup: 2 },
    dnsConfig: { options: [], searches: ['a'] },
  };
  const metadata = { labels: { app: 'a', team: 'mesh' }, annotations: { note: 'x', own: 'y' } };
  expect(uninjected({ added }, spec, metadata)).toEqual({
    metadata: { labels: { app: 'a' }, annotations: { own: 'y' } },
    spec: { containers: [app], dnsConfig: { searches: ['a'] } },
  });
});

test('uninject removes metadata that has nothing but what the status names', () => {
  expect(uninjected({ added: { labels: ['team'] } }, {}, { labels: { team: 'mesh' } })).toEqual({
    spec: { containers: [app] },
  });
});

test('uninject removes the named variables and mounts of each container', () => {
  const added = { env: ['a/X', 'b/X'], volumeMounts: ['b//etc/envoy'] };
  const [x, own] = [{ name: 'X' }, { name: 'OWN' }];
  const containers = [
    { name: 'a', env: [x] },
    { name: 'b', env: [own, x], volumeMounts: [{ mountPath: '/etc/envoy' }, { mountPath: '/mine' }] },
    { name: 'c', env: [x] },
  ];
  expect(uninjected({ added }, { containers })?.spec).toEqual({
    containers: [
      { name: 'a' },
      { name: 'b', env: [own], volumeMounts: [{ mountPath: '/mine' }] },
      { name: 'c', env: [x] },
    ],
  });
});

test('uninject does not look for what a status names and is gone', () => {
  const added = {
    containers: ['envoy'],
    volumes: ['v'],
    hostAliases: ['10.0.0.2'],
    securityContext: ['runAsUser'],
    labels: ['team', 'team'],
    env: ['envoy/X', 'app/X'],
    volumeMounts: ['app//etc/envoy'],
  };
  const requests = { cpu: '1', memory: null };
  const spec = { volumes: null, securityContext: {}, resources: { requests: {} } };
  const metadata = { labels: { app: 'a', team: 'mesh' } };
  expect(uninjected({ added, requests }, spec, metadata)).toEqual({
    metadata: { labels: { app: 'a' } },
    spec: { containers: [app], ...spec },
  });
});

test('uninject keeps items without a name and names without a container', () => {
  const containers = [{ ...app, env: [null, {}, { name: '' }, { name: 'appX' }] }];
  const spec = { containers, volumes: [{ emptyDir: {} }, { name: 'v' }] };
  expect(uninjected({ added: { volumes: ['v', ''], env: ['appX', 'app/Y'] } }, spec)?.spec).toEqual({
    containers,
    volumes: [{ emptyDir: {} }],
  });
});

test('uninject keeps lists that the pod has empty', () => {
  const spec = { initContainers: [], volumes: [], hostAliases: [] };
  expect(uninjected({ added: { volumes: [] } }, spec)?.spec).toEqual({ containers: [app], ...spec });
});

test('uninject removes the list that all containers move out of', () => {
  const override = { name: 'envoy', image: 'auto' };
  const [overlaid, moved] = [{ envoy: override }, { envoy: { list: 'containers', index: 0 } }];
  const spec = { initContainers: [{ name: 'envoy', image: 'i' }], volumes: [] };
  expect(uninjected({ overlaid, moved }, spec)?.spec).toEqual({ containers: [override, app], volumes: [] });
});

test('uninject moves several containers back to their places', () => {
  const auto = (name: string) => ({ name, image: 'auto' });
  const overlaid = { a: auto('a'), b: auto('b'), c: auto('c') };
  const from = (index: number) => ({ list: 'containers', index });
  const moved = { a: from(1), b: from(0), c: from(9) };
  const initContainers = ['a', 'b', 'c', 'setup'].map((name) => ({ name, image: 'i' }));
  expect(uninjected({ overlaid, moved }, { initContainers })?.spec).toEqual({
    containers: [auto('b'), auto('a'), app, auto('c')],
    initContainers: [{ name: 'setup', image: 'i' }],
  });
});

test.each([
  ['restores requests that grew, and removes new ones', { cpu: '1', memory: null }, { cpu: '1' }],
  ['removes requests that are all new', { cpu: null, memory: null }, undefined],
])('uninject %s', (_, requests, left) => {
  const resources = { limits: { cpu: '4' }, requests: { cpu: '2', memory: '1Gi' } };
  expect(uninjected({ requests }, { resources })?.spec).toEqual({
    containers: [app],
    resources: { limits: { cpu: '4' }, ...(left && { requests: left }) },
  });
});

const MORE = { config: DEMO_TEMPLATE, 'config.more': 'containers: [{name: more, image: i}]' };
const NOWHERE = { namespaceLabels: {} };
const ELSEWHERE = { ...NOWHERE, namespaceTemplates: 'more' };
const asksForBoth = { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config,more' } };
const of = (data?: Readonly<Record<string, string>>) => ({ state: { set: templateSet(data) } });
const injected = (more: object = {}, pod = demoPod()) => injectChecked(decideInput(pod, more)).pod;

// biome-ignore format: a line for each case
test.each<[string, string, JsonObject, NamespaceSettings?, Record<string, string>?]>([
    ['absent', 'the pod has no status', demoPod()],
    ['unmarked', 'another has removed its annotations', { ...injected(), metadata: {} }],
    ['current', 'it comes from the current template', injected()],
    ['stale', 'the template has changed', injected(), NOWHERE, { config: DEMO_TEMPLATE.replace('512Mi', '256Mi') }],
    ['stale', 'its container is missing', podWith({}, { annotations: metadataOf(injected()).annotations ?? null })],
    ['stale', 'its namespace selects another template', injected(), ELSEWHERE, MORE],
    ['current', 'its namespace selects its template', injected({ ...ELSEWHERE, ...of(MORE) }), ELSEWHERE, MORE],
    ['current', 'all its templates exist', injected(of(MORE), podWith({}, asksForBoth)), NOWHERE, MORE],
    ['stale', 'one of its templates no longer exists', injected(of(MORE), podWith({}, asksForBoth))],
  ])('the sidecar of an existing pod is %s if %s', (expected, _, pod, settings = NOWHERE, data = undefined) => {
    expect(sidecarState(pod, settings, KEYS, of(data).state)).toBe(expected);
  });
