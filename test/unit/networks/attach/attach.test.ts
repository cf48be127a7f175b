import { expect, test } from '@jest/globals';
import jsonpatch, { type Operation } from 'fast-json-patch';
import type { Pod } from '../../../../src/injection/podspec/pod.ts';
import type { AdmissionAnswer } from '../../../../src/kube/admission/review.ts';
import { attach, createAttachHandler } from '../../../../src/networks/attach/attach.ts';
import type { NetworkState } from '../../../../src/networks/controller/provider-registry.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';

const ASKED = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const GATE = { name: 'samplecrd.k8s.io/network' };
const ATTACHED = { allowed: true, operations: expect.anything() };

function pod(annotations: Readonly<Record<string, string>> | undefined, spec: object = {}): Pod {
  return {
    metadata: { name: 'p', ...(annotations && { annotations }) },
    spec: { containers: [], ...spec },
  } as Pod;
}

function attached(
  to: Pod,
  states: Readonly<Record<string, NetworkState>> = {},
  sharedNamespaces: readonly string[] = [],
): AdmissionAnswer {
  const stateOf = (key: string) => states[key] ?? {};
  return attach(to, 'red', { access: new NetworkAccess(sharedNamespaces), stateOf });
}

/** Twice on one Network, which Multus allows. */
function blue2(...ips: readonly (readonly string[])[]): string {
  return JSON.stringify(ips.map((each) => ({ name: 'blue', ips: each })));
}

/** Applies the answer to the pod, as the API server does. */
function patched(before: Pod, result: AdmissionAnswer) {
  if (!result.allowed || !result.operations) throw new Error(JSON.stringify(result));
  const operations = result.operations as Operation[];
  return jsonpatch.applyPatch(structuredClone(before) as object, operations, true).newDocument as {
    metadata: { annotations: Record<string, string> };
    spec: { schedulingGates?: unknown[] };
  };
}

test.each([
  ['a name', 'blue', 'blue'],
  ['several', ' blue , green ', 'blue , green'],
  ['one of its own namespace', 'red/blue', 'red/blue'],
  ['a name for the interface', 'blue@nw0', 'blue@nw0'],
  ['JSON', '[{"name":"blue","ips":["10.0.0.7/24"]}]', '[{"name":"blue","ips":["10.0.0.7/24"]}]'],
])('a pod that asks for Networks by %s gets the gate and the annotation of Multus', (_, asked, multus) => {
  const before = pod({ [ASKED]: asked });
  const { metadata, spec } = patched(before, attached(before));
  expect(metadata.annotations[MULTUS]).toBe(multus);
  expect(spec.schedulingGates).toEqual([GATE]);
});

test('a pod that asks for Networks does not change when it is attached twice', () => {
  const seen = pod({ [ASKED]: 'blue', [MULTUS]: 'blue' }, { schedulingGates: [GATE] });
  expect(attached(seen)).toEqual({ allowed: true, operations: [], warnings: [] });
});

test('a pod that asks for Networks may name a Network of a shared namespace', () => {
  const before = pod({ [ASKED]: 'green/blue' });
  expect(attached(before, {}, ['green'])).toMatchObject(ATTACHED);
  expect(attached(before, {}, ['*'])).toMatchObject(ATTACHED);
});

test('a pod that asks for Networks gets no gate with spec.nodeName, if its Network is Ready', () => {
  const before = pod({ [ASKED]: 'blue' }, { nodeName: 'n1' });
  expect(patched(before, attached(before)).spec).not.toHaveProperty('schedulingGates');
});

test.each([
  ['without the annotation', pod(undefined)],
  ['with foreign annotations', pod({ [MULTUS]: 'blue' })],
])('a pod %s does not change', (_, before) => {
  expect(attached(before)).toEqual({ allowed: true });
});

test.each([
  ['ip', 'ips'],
  ['portMapping', 'portMappings'],
])('a pod with the key %s is attached, with a warning', (key, meant) => {
  const before = pod({ [ASKED]: JSON.stringify([{ name: 'blue', [key]: [] }]) });
  expect(attached(before)).toMatchObject({
    ...ATTACHED,
    warnings: [
      `annotation ${ASKED} has the key "${key}", which has no effect, for "blue": did you mean ${meant}?`,
    ],
  });
});

test('a pod with other keys of Multus is attached without a warning', () => {
  const options = { bandwidth: {}, 'cni-args': {}, 'default-route': ['10.0.0.1'], portMappings: [] };
  const before = pod({ [ASKED]: JSON.stringify([{ name: 'blue', ...options, 'of-next-year': 1 }]) });
  expect(attached(before)).toMatchObject({ ...ATTACHED, warnings: [] });
});

test('a static pod does not change, with a warning', () => {
  const before = pod({ [ASKED]: 'blue', 'kubernetes.io/config.mirror': 'abc' }, { nodeName: 'n1' });
  expect(attached(before)).toMatchObject({
    allowed: true,
    warnings: [expect.stringContaining('static')],
  });
});

test.each([
  ['nothing', '', 'is empty'],
  ['a missing name', 'blue,,green', 'has "", which is not a name'],
  ['a bad name', 'Blue', 'names "Blue", which is not a valid Network name'],
  ['too many slashes', 'a/b/c', 'has "a/b/c", which is not a name'],
  [
    'another namespace',
    'green/blue',
    'names a Network in namespace green, which pods in namespace red are not allowed to use',
  ],
  ['one twice', 'blue,red/blue', 'names Network red/blue twice'],
  ['the first interface', 'blue@eth0', 'sets interface to "eth0"'],
  ['a name of 16 for an interface', 'blue@abcdefghijklmnop', 'sets interface to "abcdefghijklmnop"'],
  ['invalid JSON', '[{"name":', 'is not a JSON list'],
  ['an object', '{"name":"blue"}', 'is not a JSON list'],
  ['an empty list', '[]', 'names no Network'],
  ['an element that is not an object', '["blue"]', 'has no name in [0]'],
  ['the MAC of all', '[{"name":"blue","mac":"ff:ff:ff:ff:ff:ff"}]', 'sets mac to "ff:ff:ff:ff:ff:ff"'],
  ['no MAC address', '[{"name":"blue","mac":"00:00:00:00:00:00"}]', 'sets mac to "00:00:00:00:00:00"'],
  ['an invalid namespace', '[{"name":"blue","namespace":7}]', 'sets namespace to 7'],
])('attach refuses an annotation with %s', (_, asked, message) => {
  const result = attached(pod({ [ASKED]: asked }));
  expect(result).toMatchObject({
    allowed: false,
    message: expect.stringContaining(`annotation ${ASKED} ${message}`),
  });
});

test.each([
  ['an invalid annotation of Multus', 'blue', '[{', `annotation ${MULTUS} is not a JSON list`],
  [
    'one Network with and without an address',
    '[{"name":"blue","ips":["10.0.0.7/24"]}]',
    'blue',
    `annotation ${MULTUS} asks for red/blue with other options than ${ASKED}: keep`,
  ],
])('attach refuses %s', (_, asked, multus, message) => {
  const result = attached(pod({ [ASKED]: asked, [MULTUS]: multus }));
  expect(result).toMatchObject({ allowed: false, message: expect.stringContaining(message) });
});

// The operator would look at another Network, address or MAC than Multus.
test.each([
  ['Name', 'name'],
  ['NAMESPACE', 'namespace'],
  ['Mac', 'mac'],
  ['ip\u017f', 'ips'],
  ['portmappings', 'portMappings'],
])('attach refuses the key %s, which Multus takes for %s, in either annotation', (key, meant) => {
  const text = JSON.stringify([{ name: 'blue', [key]: 'x' }]);
  const told = `has the key "${key}", which Multus reads as ${meant}: use ${meant}`;
  const by = (annotations: Readonly<Record<string, string>>) => attached(pod(annotations));
  expect(by({ [ASKED]: text })).toMatchObject({ allowed: false, message: `annotation ${ASKED} ${told}` });
  expect(by({ [ASKED]: 'green', [MULTUS]: text })).toMatchObject({
    allowed: false,
    message: `annotation ${MULTUS} ${told}`,
  });
});

// Multus, a CNI plugin or Linux would refuse it, each time the kubelet tries.
const subnet = { cidr: '10.0.0.0/24', gateway: '10.0.0.1' };
const ready = { 'red/blue': { subnet }, 'red/green': { subnet } };
const blue = (options: object) => JSON.stringify([{ name: 'blue', ...options }]);

// biome-ignore format: a line for each case
test.each([
  ['one interface for two', 'blue@net1,green@net1', 'interface net1 for two networks, red/blue and red/green'],
  ['the one of Multus by place', '[{"name":"blue","interface":"net2"},{"name":"green"}]', 'interface net2 for two networks, red/blue and red/green'],
  ['a smaller prefix', blue({ ips: ['10.0.0.60/32'] }), 'which must end in /24 on Network red/blue: correct it'],
  ['one address twice', blue({ ips: ['10.0.0.7/24', '10.0.0.7'] }), 'asks for "10.0.0.7" twice'],
  ['the gateway', blue({ ips: ['10.0.0.1/24'] }), 'which is the gateway of Network'],
  ['the broadcast address', blue({ ips: ['10.0.0.255'] }), 'which is the broadcast address of'],
  ['the other family', blue({ ips: ['fd00::7'] }), 'which is not in the range of Network'],
  ['IPv4 within IPv6', blue({ ips: ['::ffff:10.0.0.7'] }), 'which must be in IPv4 notation on Network red/blue'],
  ['an address that only some read', blue({ ips: ['10.0.7'] }), 'sets ips to'],
  ['an octal address', blue({ ips: ['010.0.0.7'] }), 'sets ips to'],
  ['a zone', blue({ ips: ['fe80::1%net1'] }), 'sets ips to'],
  ['a far default route', blue({ 'default-route': ['192.0.2.1'] }), "which is not in the range of Network red/blue: use the Network's gateway"],
  ['a default route to all', blue({ 'default-route': ['10.0.0.255'] }), 'broadcast address of Network red/blue: use'],
  ['two default routes', '[{"name":"blue","default-route":["10.0.0.1"]},{"name":"green","default-route":["10.0.0.1"]}]', 'several default-routes'],
  ['a MAC address of gateways', blue({ mac: '02:6E:77:00:00:01' }), '02:6e:77:… is reserved for gateways'],
  ['one by an argument', blue({ 'cni-args': { mac: '02-6e-77-00-00-01' } }), '02:6e:77:… is reserved for gateways'],
])('attach refuses %s', (_, asked, message) => {
  const told = expect.stringContaining(message);
  expect(attached(pod({ [ASKED]: asked }), ready)).toMatchObject({ allowed: false, message: told });
});

test.each([
  [
    'an interface of ours',
    '[{"name":"nad"},{"name":"nad2","interface":"net3"}]',
    'interface net3 for two networks, red/nad2',
  ],
  ['an interface that Linux refuses', 'some-nad@a:b', 'sets interface to "a:b"'],
  ['an interface of each pod', '[{"name":"some-nad","interfaceRequest":"eth0"}]', 'sets interface to "eth0"'],
  [
    'a MAC address of gateways',
    '[{"name":"blue","mac":"026e.7700.0001"}]',
    '02:6e:77:… is reserved for gateways',
  ],
  [
    'a MAC address twice on a Network',
    '[{"name":"blue","mac":"02:00:00:00:00:07"},{"name":"blue","mac":"02:00:00:00:00:07"}]',
    'twice on Network red/blue',
  ],
  ['a text as addresses of another', '[{"name":"some-nad","ips":"10.9.0.7"}]', 'sets ips to "10.9.0.7"'],
  ['a pattern as interface', '[{"name":"some-nad","interface":"net%d"}]', 'sets interface to "net%d"'],
  ['one address on two interfaces', blue2(['10.0.0.7'], ['10.0.0.7/24']), 'asks for "10.0.0.7/24" twice'],
])("attach refuses %s in Multus' annotation", (_, multus, message) => {
  expect(attached(pod({ [ASKED]: 'green', [MULTUS]: multus }), ready)).toMatchObject({
    allowed: false,
    message: expect.stringContaining(message),
  });
});

test.each([
  'green@net1,blue@net2',
  blue({ ips: ['10.0.0.62'] }),
  blue({ ips: ['10.0.0.70/24', '10.0.0.71/24'] }),
  blue({ 'default-route': ['10.0.0.9'], portMappings: [{}], 'infiniband-guid': '' }),
  '[{"name":"blue","mac":"02:00:00:00:00:07"},{"name":"green","mac":"02:00:00:00:00:07"}]',
])('attach does not refuse %s', (asked) => {
  expect(attached(pod({ [ASKED]: asked }), ready)).toMatchObject(ATTACHED);
});

test.each([
  '[{"name":"green","interface":"Net-1.2_x","mac":"02-00-00-00-00-07"}]',
  '[{"name":"green","interface":"","mac":"","namespace":null,"ips":null,"cni-args":null}]',
  '[{"name":"green","interfaceRequest":"net7"}]',
  '[{"name":"nad","interface":"a","mac":"02:00:00:00:00:07"},{"name":"nad","interface":"b","mac":"02:00:00:00:00:07"}]',
  'red /green @ net7',
])("attach does not refuse %s in Multus' annotation, which Multus reads", (multus) => {
  const states = { ...ready, 'red/nad': { reason: 'WaitsForNetwork', why: '' } } as const;
  expect(attached(pod({ [ASKED]: 'green', [MULTUS]: multus }), states)).toMatchObject(ATTACHED);
});

test('attach refuses a pod with hostNetwork', () => {
  const result = attached(pod({ [ASKED]: 'blue' }, { hostNetwork: true }));
  expect(result).toMatchObject({ allowed: false, message: expect.stringContaining('hostNetwork') });
});

test('attach refuses a pod that names its node while its Network is not Ready', () => {
  const waiting = {
    'red/blue': { reason: 'WaitsForNetwork', why: 'Network red/blue does not exist' },
  } as const;
  expect(attached(pod({ [ASKED]: 'blue' }, { nodeName: 'n1' }), waiting)).toMatchObject({
    allowed: false,
    message: expect.stringContaining('Network red/blue does not exist: create the pod once'),
  });
});

test('attach refuses a Network of a provider that does not attach pods', () => {
  const states = { 'red/green': { reason: 'ProviderCannotAttach', why: 'ProviderCannotAttach: …' } } as const;
  const message = 'ProviderCannotAttach: …';
  expect(attached(pod({ [ASKED]: 'blue,green' }), states)).toMatchObject({ allowed: false, message });
});

const names = (n: number) => Array.from({ length: n }, (_, i) => `network-${i}`).join();

test('the limits of an annotation allow 32 Networks, and refuse more', () => {
  expect(attached(pod({ [ASKED]: names(32) }))).toMatchObject(ATTACHED);
  const message = 'annotation samplecrd.k8s.io/network names 33 Networks: use at most 32';
  expect(attached(pod({ [ASKED]: names(33) }))).toMatchObject({ allowed: false, message });
});

test.each([ASKED, MULTUS])('the limits of an annotation refuse %s with more than 32 KiB', (key) => {
  const result = attached(pod({ [ASKED]: 'blue', [key]: 'x'.repeat(32 * 1024 + 1) }));
  const message = `annotation ${key} has 32769 characters: use at most 32768`;
  expect(result).toMatchObject({ allowed: false, message });
});

test('the limits of an annotation refuse more than 100 networks for Multus', () => {
  const message = `annotation ${MULTUS} names more than 100 networks: use fewer`;
  const objects = JSON.stringify(Array(101).fill({ name: 'n' }));
  for (const multus of [names(101), objects])
    expect(attached(pod({ [ASKED]: 'blue', [MULTUS]: multus }))).toMatchObject({ allowed: false, message });
});

test('the limits of an annotation refuse more than 100 networks for Multus after the merge', () => {
  const message = `annotation ${MULTUS} names 100 networks, and 101 with those in ${ASKED}: use at most 100 in total`;
  const result = attached(pod({ [ASKED]: 'blue', [MULTUS]: names(100) }));
  expect(result).toMatchObject({ allowed: false, message });
  expect(attached(pod({ [ASKED]: 'blue', [MULTUS]: names(99) }))).toMatchObject(ATTACHED);
});

test('the limits of an annotation refuse more than 32 KiB for Multus after the merge', () => {
  const multus = JSON.stringify([{ name: 'green', more: 'x'.repeat(32_740) }]);
  const message = `annotation ${MULTUS} has 32784 characters together with ${ASKED}: use at most 32768 in total`;
  const result = attached(pod({ [ASKED]: '[{"name":"blue"}]', [MULTUS]: multus }));
  expect(result).toMatchObject({ allowed: false, message });
});

test.each([ASKED, MULTUS])('the limits of an annotation refuse %s with deep nesting', (key) => {
  const result = attached(pod({ [ASKED]: 'blue', [key]: '['.repeat(1000) }));
  const message = `annotation ${key} nests lists and objects deeper than 32: flatten it`;
  expect(result).toMatchObject({ allowed: false, message });
});

test('the API server is asked before a pod is refused, because the cache may be outdated', async () => {
  const refusal = { allowed: false, code: 403, message: 'no' } as const;
  const attach = async (_: Pod, __: string, { fresh }: { readonly fresh: boolean }) =>
    fresh ? { allowed: true as const } : refusal;
  const handler = createAttachHandler({ attach, log: capturedLog().log });
  expect(await handler(podRequest(), AbortSignal.timeout(10_000))).toEqual({ allowed: true });
});
