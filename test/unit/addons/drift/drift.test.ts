import { beforeEach, describe, expect, test } from '@jest/globals';
import { Drift, type Finding } from '../../../../src/addons/drift/drift.ts';
import { inject } from '../../../../src/injection/inject.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { podCreation } from '../../../../src/injection/podspec/admission-target.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import type { DriftBasis } from '../../../../src/injection/webhook/classify.ts';
import { podSummary } from '../../../../src/injection/webhook/pod-cache.ts';
import type { KubeObject, ObjectKey } from '../../../../src/kube/api/object.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN, templateSet } from '../../../support/injection/demo.ts';
import { refusal } from '../../../support/kube/fake-events.ts';

const keys = keysFor();
const options = { keys, requireAnnotation: true, operatorNamespace: 'envoy-initializer' };
const summary = podSummary(keys);

const templates = (config: string) => templateSet({ config });

function pod(name: string, metadata: object = {}, spec: object = {}): KubeObject & JsonObject {
  return {
    metadata: { name, namespace: 'web', uid: `uid-${name}`, ...metadata },
    spec: { containers: [{ name: 'app', image: 'app' }], ...spec },
  };
}

function injected(plain: KubeObject & JsonObject, set: TemplateSet): KubeObject & JsonObject {
  const opted = {
    ...plain,
    metadata: { name: plain.metadata.name, namespace: 'web', uid: 'a', labels: { [OPT_IN]: 'true' } },
  };
  const subject = { request: podCreation('web'), namespaceLabels: {}, options, state: { set } };
  const result = inject({ ...subject, pod: opted });
  if (result.outcome !== 'injected') throw new Error('the pod of the test takes no sidecar');
  return result.pod as KubeObject & JsonObject;
}

describe('Drift', () => {
  const pods = new Map<ObjectKey, KubeObject & JsonObject>();
  const got: string[] = [];
  const reported: string[] = [];
  let namespaceLabels: Readonly<Record<string, string>>;
  let namespaceTemplates: string | undefined;
  let basis: DriftBasis;
  let drift: Drift;

  beforeEach(() => {
    pods.clear();
    got.length = 0;
    reported.length = 0;
    namespaceLabels = { [OPT_IN]: 'true' };
    namespaceTemplates = undefined;
    basis = { options, state: { set: templates(DEMO_TEMPLATE) } };
    drift = new Drift({
      client: {
        async get(resource, { namespace, name }) {
          got.push(name);
          const found = pods.get(`${namespace}/${name}`);
          if (!found) throw refusal(404, 'NotFound');
          return resource.decode(found);
        },
      },
      pods: {
        list: () => [...pods.values()].map(summary),
        get: (key) => (pods.has(key) ? summary(pods.get(key) as KubeObject) : undefined),
      },
      namespaceSettings: () => ({ namespaceLabels, namespaceTemplates }),
      basis: () => basis,
      onFinding: ({ kind, pod: found }: Finding) => reported.push(`${kind} ${found.metadata.name}`),
    });
  });

  async function look(...some: readonly (KubeObject & JsonObject)[]): Promise<readonly string[]> {
    for (const each of some) pods.set(`web/${each.metadata.name}`, each);
    for (const key of pods.keys()) await drift.reconcile(key, new AbortController().signal);
    return drift.findings.map(({ kind, pod: found }) => `${kind} ${found.metadata.name}`);
  }

  test('finds a pod of an opted-in namespace without its sidecar, and reports it once', async () => {
    expect(await look(pod('a'))).toEqual(['missed a']);
    await look();
    expect(reported).toEqual(['missed a']);
  });

  test('finds a stale pod after the template has changed', async () => {
    await look(injected(pod('a'), templates(DEMO_TEMPLATE)));
    basis = { options, state: { set: templates(DEMO_TEMPLATE.replace('concurrency 4', 'concurrency 2')) } };
    expect(await look()).toEqual(['stale a']);
  });

  test.each<[string, KubeObject & JsonObject]>([
    ['opts out', pod('a', { labels: { [OPT_IN]: 'false' } })],
    ['is being deleted', pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('ignores a pod that %s, without reading it', async (_, found) => {
    expect(await look(found)).toEqual([]);
    expect(got).toEqual([]);
  });

  test('reads the whole pod once if metadata cannot show that it needs no sidecar', async () => {
    expect(await look(pod('a', {}, { hostNetwork: true }))).toEqual([]);
    await look();
    expect(got).toEqual(['a']);
  });

  test('reads the whole pod again after a reset', async () => {
    await look(pod('a', {}, { hostNetwork: true }));
    drift.reset(['web/another']);
    await look();
    expect(got).toEqual(['a']);
    drift.reset(['web/a']);
    await look();
    expect(got).toEqual(['a', 'a']);
  });

  test('reports the same pods again in the next term, and none before', async () => {
    await look(pod('a'), pod('b', {}, { hostNetwork: true }));
    drift.forget();
    expect(drift.findings).toEqual([]);
    await look();
    expect(reported).toEqual(['missed a', 'missed a']);
    expect(got).toEqual(['a', 'b', 'a', 'b']);
  });
});
