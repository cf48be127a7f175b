import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { injectManifests, uninjectManifests } from '../../../src/addons/manifests/manifests.ts';
import { inject } from '../../../src/injection/inject.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import { createdPod, podSites } from '../../../src/injection/podspec/workload.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { isObject, type JsonObject } from '../../../src/util/json.ts';
import { readManifests } from '../../../src/util/manifests/parse.ts';
import { moduleFiles } from '../../env/go/locked-module.ts';
import { pinOf } from '../../env/go/pins.ts';
import { templateSet } from '../../support/injection/demo.ts';
import { type Injector, installation, PolicyLab } from '../../support/injection/policy-lab.ts';
import { since } from '../../support/jest/since.ts';

/** Kubernetes has the policies since 1.36. */
const { test } = since(36);

/** Most of the applications have port 80, on which the default configuration listens, too. */
const TEMPLATE = DEFAULT_TEMPLATE_YAML.replace('containerPort: 80\n', 'containerPort: 15080\n').replace(
  'envoy.json',
  'other.json',
);
const OF = installation('istio', templateSet({ config: TEMPLATE }), { requireAnnotation: false });
const { keys, operatorNamespace } = OF.options;
const SETTINGS = {
  decideOptions: { keys, requireAnnotation: false, operatorNamespace },
  state: { set: OF.set },
  namespace: 'default',
  podTemplates: [],
};

let inputs: readonly (readonly [name: string, text: string])[];
let lab: PolicyLab;

/** What Istio's own injector is tested with. */
beforeAll(async () => {
  const module = await moduleFiles(pinOf('istio.io/istio'), 'istio.io/istio', process.env);
  const directory = join(module, 'pkg/kube/inject/testdata/inject');
  // The others are Istio's templates and values.
  const names = (await readdir(directory)).filter((name) => /^[^.]+(\.[^.]+)?\.yaml$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  inputs = names
    .map((name, i) => [name, texts[i] ?? ''] as const)
    .filter(([, text]) => podsIn(text).length > 0);
  lab = await PolicyLab.start();
  await lab.createNamespaces('plain', {});
  await lab.install([OF]);
}, 300_000);

afterAll(() => lab?.stop());

/** The pods of the workloads, with the account that each namespace has. Its token would be the webhook's first volume. */
function podsIn(text: string): readonly JsonObject[] {
  return readManifests(text)
    .flatMap((document) => [...podSites(document)])
    .map(({ object, pod }) => createdPod(object, pod))
    .filter(({ spec }) => isObject(spec))
    .map(({ metadata, spec }) => {
      const { serviceAccountName: _, serviceAccount: __, ...rest } = spec as JsonObject;
      const { labels = {}, annotations = {} } = (metadata ?? {}) as JsonObject;
      return { metadata: { labels, annotations }, spec: { ...rest, automountServiceAccountToken: false } };
    });
}

test("istio's test inputs are given back to the byte by uninject, after inject", () => {
  const changed = inputs.filter(([, text]) => {
    const injected = injectManifests(text, SETTINGS);
    expect(uninjectManifests(injected.text, keys, []).text).toBe(text);
    return injected.text !== text;
  });
  expect(changed.length).toBeGreaterThan(90);
});

test("istio's test inputs become the same by the policy, the webhook and the command line", async () => {
  const seen = { injected: 0, left: 0, refused: 0 };
  for (const [name, text] of inputs) {
    for (const pod of podsIn(text)) {
      const result = inject({
        ...{ request: podCreation('plain'), pod, namespaceLabels: {} },
        ...{ options: SETTINGS.decideOptions, state: SETTINGS.state },
      });
      const ask = (injector: Injector, of = pod) => lab.admit(injector, 'plain', OF.id, of);
      const [policy, webhook, nobody, commandLine] = await Promise.all([
        ...[ask('policy'), ask('webhook'), ask('nobody')],
        ask('nobody', result.outcome === 'injected' ? (result.pod as JsonObject) : pod),
      ]);
      expect({ name, pod: commandLine }).toEqual({ name, pod: webhook });
      const isLeft = isDeepStrictEqual(policy, nobody);
      expect({ name, pod: policy }).toEqual({ name, pod: isLeft ? nobody : webhook });
      if (isObject(nobody) && 'refused' in nobody) seen.refused += 1;
      else seen[isLeft ? 'left' : 'injected'] += 1;
    }
  }
  expect(seen.injected).toBeGreaterThan(50);
  expect(seen.refused).toBeLessThan(10);
}, 300_000);
