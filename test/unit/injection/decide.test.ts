import { describe, expect, test } from '@jest/globals';
import { decide } from '../../../src/injection/decide.ts';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import type { SkipReason } from '../../../src/injection/rules/index.ts';
import { type JsonObject, own } from '../../../src/util/json.ts';
import { decideInput, demoPod, OPT_IN, podWith, STATUS, templateSet } from '../../support/injection/demo.ts';
import { injectChecked, metadataOf, namesOf, specOf } from '../../support/injection/inject-checked.ts';

type Overrides = Parameters<typeof decideInput>[1];

interface Case {
  readonly name: string;
  readonly pod?: JsonObject;
  readonly overrides?: Overrides;
  readonly reason: SkipReason | 'injected';
  readonly warn?: boolean;
}

const plain = podWith({}, { annotations: {} });
const labelled = (value: string) => podWith({}, { labels: { [OPT_IN]: value }, annotations: {} });
const annotated = (value: string) => podWith({}, { annotations: { [OPT_IN]: value } });
const options = { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' };
const allPods = { options: { ...options, requireAnnotation: false } };
const namespaced = (value: string) => ({ namespaceLabels: { [OPT_IN]: value } });
const request = (change: object) => ({ request: { ...podCreation('default'), ...change } });
const resource = (group: string, version: string, name: string) => ({ group, version, resource: name });

const table: readonly Case[] = [
  // Only the creation of pods.
  { name: 'an UPDATE', overrides: request({ operation: 'UPDATE' }), reason: 'not-a-pod-create' },
  { name: 'a DELETE', overrides: request({ operation: 'DELETE' }), reason: 'not-a-pod-create' },
  { name: 'a CONNECT', overrides: request({ operation: 'CONNECT' }), reason: 'not-a-pod-create' },
  {
    name: 'a subresource',
    overrides: request({ subResource: 'ephemeralcontainers' }),
    reason: 'not-a-pod-create',
  },
  { name: 'an empty subresource', overrides: request({ subResource: '' }), reason: 'injected' },
  {
    name: 'another resource',
    overrides: request({ resource: resource('', 'v1', 'podtemplates') }),
    reason: 'not-a-pod-create',
  },
  {
    name: 'pods of another group',
    overrides: request({ resource: resource('metrics.k8s.io', 'v1', 'pods') }),
    reason: 'not-a-pod-create',
  },
  {
    name: 'another kind',
    overrides: request({ kind: { group: '', version: 'v1', kind: 'Binding' } }),
    reason: 'not-a-pod-create',
  },
  // Namespaces.
  {
    name: 'kube-system',
    overrides: { request: podCreation('kube-system') },
    reason: 'system-namespace',
    warn: true,
  },
  {
    name: 'kube-public',
    overrides: { request: podCreation('kube-public') },
    reason: 'system-namespace',
    warn: true,
  },
  {
    name: 'kube-node-lease',
    overrides: { request: podCreation('kube-node-lease') },
    reason: 'system-namespace',
    warn: true,
  },
  {
    name: 'a namespace whose name only begins like one',
    overrides: { request: podCreation('kube-systems') },
    reason: 'injected',
  },
  {
    name: "the operator's namespace",
    overrides: { request: podCreation('operator'), options },
    reason: 'operator-namespace',
    warn: true,
  },
  {
    name: 'a system namespace that opts in, without a warning for every pod',
    pod: plain,
    overrides: { request: podCreation('kube-system'), ...namespaced('true') },
    reason: 'system-namespace',
  },
  // Pods that cannot have a sidecar.
  {
    name: 'a mirror pod',
    pod: podWith({}, { annotations: { [OPT_IN]: 'true', 'kubernetes.io/config.mirror': 'hash' } }),
    reason: 'mirror-pod',
  },
  { name: 'a Windows pod by os', pod: podWith({ os: { name: 'windows' } }), reason: 'windows', warn: true },
  { name: 'a Linux pod by os', pod: podWith({ os: { name: 'linux' } }), reason: 'injected' },
  {
    name: 'a Windows pod by node selector',
    pod: podWith({ nodeSelector: { 'kubernetes.io/os': 'windows' } }),
    reason: 'windows',
    warn: true,
  },
  { name: 'hostNetwork', pod: podWith({ hostNetwork: true }), reason: 'host-network', warn: true },
  { name: 'hostNetwork false', pod: podWith({ hostNetwork: false }), reason: 'injected' },
  { name: 'no containers', pod: podWith({ containers: [] }), reason: 'no-containers' },
  { name: 'null containers', pod: podWith({ containers: null }), reason: 'no-containers' },
  // The opt-in: label before annotation, pod before namespace, the all-pods rule last.
  { name: 'no opt-in', pod: plain, reason: 'not-opted-in' },
  { name: 'the label true', pod: labelled('true'), reason: 'injected' },
  { name: 'the label false', pod: labelled('false'), reason: 'opted-out' },
  { name: 'the annotation true', pod: annotated('true'), reason: 'injected' },
  { name: 'the annotation false', pod: annotated('false'), reason: 'opted-out' },
  {
    name: 'the label false over the annotation true',
    pod: podWith({}, { labels: { [OPT_IN]: 'false' }, annotations: { [OPT_IN]: 'true' } }),
    reason: 'opted-out',
  },
  {
    name: 'the label true over the annotation false',
    pod: podWith({}, { labels: { [OPT_IN]: 'true' }, annotations: { [OPT_IN]: 'false' } }),
    reason: 'injected',
  },
  { name: 'the namespace true', pod: plain, overrides: namespaced('true'), reason: 'injected' },
  { name: 'the namespace false', pod: plain, overrides: namespaced('false'), reason: 'opted-out' },
  {
    name: 'the annotation false over the namespace true',
    pod: annotated('false'),
    overrides: namespaced('true'),
    reason: 'opted-out',
  },
  {
    name: 'the annotation true over the namespace false',
    pod: annotated('true'),
    overrides: namespaced('false'),
    reason: 'injected',
  },
  { name: 'the all-pods rule', pod: plain, overrides: allPods, reason: 'injected' },
  {
    name: 'the namespace false over the all-pods rule',
    pod: plain,
    overrides: { ...allPods, ...namespaced('false') },
    reason: 'opted-out',
  },
  {
    name: 'the annotation false over the all-pods rule',
    pod: annotated('false'),
    overrides: allPods,
    reason: 'opted-out',
  },
  // Invalid values.
  { name: 'an empty annotation', pod: annotated(''), reason: 'invalid-value', warn: true },
  { name: 'a True', pod: annotated('True'), reason: 'invalid-value', warn: true },
  { name: 'a yes', pod: labelled('yes'), reason: 'invalid-value', warn: true },
  {
    name: 'a mistyped label over a namespace true',
    pod: labelled('fasle'),
    overrides: namespaced('true'),
    reason: 'invalid-value',
    warn: true,
  },
  {
    name: 'a mistyped namespace label',
    pod: plain,
    overrides: namespaced('treu'),
    reason: 'invalid-value',
    warn: true,
  },
  {
    name: 'an annotation that is not a string',
    pod: podWith({}, { annotations: { [OPT_IN]: true } }),
    reason: 'not-opted-in',
  },
  {
    name: 'labels and annotations that are null',
    pod: podWith({}, { labels: null, annotations: null }),
    reason: 'not-opted-in',
  },
  // Templates.
  {
    name: 'no valid template',
    overrides: { state: { fault: 'config: bad' } },
    reason: 'no-template',
    warn: true,
  },
  {
    name: 'no valid template, and not opted in',
    pod: plain,
    overrides: { state: { fault: 'config: bad' } },
    reason: 'not-opted-in',
  },
  {
    name: 'a template that does not exist',
    pod: podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config,nope' } }),
    reason: 'unknown-template',
    warn: true,
  },
  {
    name: 'a template of the namespace that does not exist',
    overrides: { namespaceTemplates: 'nope' },
    reason: 'unknown-template',
    warn: true,
  },
  {
    name: 'a template of the namespace that does not exist, although the pod selects its own',
    pod: podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config' } }),
    overrides: { namespaceTemplates: 'nope' },
    reason: 'injected',
  },
  {
    name: 'the default template by its name, with blanks',
    pod: podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: ' config ' } }),
    reason: 'injected',
  },
  // Containers that already exist.
  {
    name: 'a container with that name',
    pod: podWith({
      containers: [
        { name: 'app', image: 'a' },
        { name: 'envoy', image: 'own' },
      ],
    }),
    reason: 'container-exists',
    warn: true,
  },
  {
    name: 'an init container with that name',
    pod: podWith({ initContainers: [{ name: 'envoy', image: 'own' }] }),
    reason: 'container-exists',
    warn: true,
  },
  {
    name: 'a container with that name and the image auto',
    pod: podWith({
      containers: [
        { name: 'app', image: 'a' },
        { name: 'envoy', image: 'auto' },
      ],
    }),
    reason: 'injected',
  },
];

describe('decide', () => {
  test.each(table)('$name: $reason', ({ pod = demoPod(), overrides, reason, warn = false }) => {
    const decision = decide(decideInput(pod, overrides));
    expect(decision.inject ? 'injected' : decision.reason).toBe(reason);
    expect(decision.inject ? false : decision.warn).toBe(warn);
  });

  test('warns about a reason before the opt-in only if the pod itself opted in', () => {
    const pod = podWith({ hostNetwork: true }, { annotations: {} });
    expect(decide(decideInput(pod, namespaced('true')))).toMatchObject({
      reason: 'host-network',
      warn: false,
    });
  });

  test('quotes, escapes and cuts an invalid value', () => {
    const decision = decide(decideInput(annotated(`"a\n${'x'.repeat(1000)}`)));
    expect(decision).toMatchObject({
      diagnostics: [
        { message: `the pod's annotation ${OPT_IN} is "\\"a\\n${'x'.repeat(28)}…": write "true" or "false"` },
      ],
    });
  });

  test('returns whether the pod itself opted in', () => {
    expect(decide(decideInput(demoPod(), { state: { fault: 'x' } }))).toMatchObject({ explicit: true });
    expect(decide(decideInput(plain, { state: { fault: 'x' }, ...namespaced('true') }))).toMatchObject({
      explicit: false,
    });
  });

  test('derives all keys from --annotation', () => {
    const pod = podWith({}, { annotations: { 'example.com/mesh': 'true' } });
    const own = { options: { ...options, keys: keysFor('example.com/mesh') } };
    expect(decide(decideInput(pod, own)).inject).toBe(true);
    expect(decide(decideInput(demoPod(), own))).toMatchObject({ reason: 'not-opted-in' });
  });

  test('does not treat inherited properties as an opt-in', () => {
    const keyed = { options: { ...options, keys: keysFor('constructor') } };
    expect(decide(decideInput(demoPod(), keyed))).toMatchObject({ reason: 'not-opted-in' });
  });
});

describe('an injected pod', () => {
  const injected = () => {
    const result = inject(decideInput(demoPod()));
    if (result.outcome !== 'injected') throw new Error(result.outcome);
    return result.pod;
  };

  test('stays unchanged', () => {
    expect(decide(decideInput(injected()))).toMatchObject({ reason: 'already-injected', warn: false });
  });

  test('differs from a pod with a copied status and no sidecar', () => {
    const annotations = (injected().metadata as JsonObject).annotations as JsonObject;
    expect(decide(decideInput(podWith({}, { annotations }))).inject).toBe(true);
  });

  describe('differs from a pod without the containers of the template, although its status', () => {
    const status = () => JSON.parse(String(own(own(metadataOf(injected()), 'annotations'), STATUS)));

    test.each<[string, JsonObject]>([
      ['adds nothing', { added: {} }],
      ['says nothing of additions', { added: null }],
      ['adds containers without a name', { added: { containers: [] } }],
      ['adds the container of the application', { added: { containers: ['myapp-container'] } }],
      ['merged the container of the application', { added: {}, overlaid: { 'myapp-container': {} } }],
    ])('%s', (_, lie) => {
      const annotations = { [OPT_IN]: 'true', [STATUS]: JSON.stringify({ ...status(), ...lie }) };
      const { pod } = injectChecked(decideInput(podWith({}, { annotations })));
      expect(namesOf(specOf(pod).containers)).toEqual(['myapp-container', 'envoy']);
    });

    test('is right, but the container is still to be merged', () => {
      const annotations = { [OPT_IN]: 'true', [STATUS]: JSON.stringify(status()) };
      const containers = [{ name: 'envoy', image: 'auto' }];
      const { pod } = injectChecked(decideInput(podWith({ containers }, { annotations })));
      expect(specOf(pod).containers).toMatchObject([{ image: expect.stringContaining('lyft/envoy') }]);
    });

    test('is right, but an init container is missing', () => {
      const config = 'initContainers: [{name: setup, image: i}]\ncontainers: [{name: envoy, image: i}]';
      const state = { set: templateSet({ config }) };
      const { pod } = injectChecked(decideInput(demoPod(), { state }));
      const { initContainers: _, ...spec } = specOf(pod);
      expect(decide(decideInput({ ...pod, spec }, { state }))).toMatchObject({ reason: 'container-exists' });
    });
  });

  test('with another state of the template is not injected again', () => {
    const pod = injected();
    const annotations = {
      [OPT_IN]: 'true',
      [STATUS]: '{"version":1,"templates":[{"name":"config","sha256":"0"}],"added":{"containers":["envoy"]}}',
    };
    const stale = { ...pod, metadata: { ...(pod.metadata as JsonObject), annotations } };
    expect(decide(decideInput(stale))).toMatchObject({
      reason: 'container-exists',
      diagnostics: [{ message: expect.stringContaining('from an earlier injection') }],
    });
  });

  test.each(['', 'null', '[]', '{"version":2}', '{"version":1,"templates":7,"added":[]}', 'injected'])(
    'is not recognized by a status of %j',
    (status) => {
      const pod = podWith({}, { annotations: { [OPT_IN]: 'true', [STATUS]: status } });
      expect(decide(decideInput(pod)).inject).toBe(true);
    },
  );
});
