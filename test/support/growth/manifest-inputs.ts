import { dump } from 'js-yaml';
import { injectManifests, uninjectManifests } from '../../../src/addons/manifests/manifests.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { demoPod, podWith, templateSet } from '../injection/demo.ts';
import { type GrowingInput, times } from './growing-input.ts';

const keys = keysFor();
const decideOptions = { keys, requireAnnotation: true, operatorNamespace: 'envoy-initializer' };
const settings = { decideOptions, state: { set: templateSet() }, namespace: 'default', podTemplates: [] };

const pod = (index: number): JsonObject => ({
  ...demoPod(),
  metadata: { ...(demoPod().metadata as JsonObject), name: `pod-${index}` },
});
const list = (n: number) => ({ apiVersion: 'v1', kind: 'List', items: times(n, pod) });
const wide = (n: number) =>
  podWith({ containers: times(n, (i) => ({ name: `app-${i}`, image: 'busybox' })) });

const TEXTS: Readonly<Record<string, (n: number) => string>> = {
  documents: (n) => times(n, (i) => dump(pod(i))).join('---\n'),
  'documents, one of which cannot be edited': (n) =>
    [': 2\n', ...times(n, (i) => dump(pod(i)))].join('---\n'),
  'items of a List': (n) => dump(list(n)),
  'items of a List in JSON on one line': (n) => JSON.stringify(list(n)),
  'containers of a pod': (n) => dump(wide(n)),
  'letters of a value': (n) =>
    dump(podWith({}, { annotations: { a: 'x'.repeat(100 * n), [keys.optIn]: 'true' } })),
  comments: (n) => `${'# x\n'.repeat(10 * n)}${dump(pod(0))}`,
};

/** Texts of manifests, as `inject` and `uninject` work on them: each one string, as a file that is read is. */
export const MANIFESTS: readonly GrowingInput[] = Object.entries(TEXTS).flatMap(([name, text]) => [
  {
    name: `inject: ${name}`,
    from: 30,
    work: (n) => {
      const input = Buffer.from(text(n)).toString();
      return () => injectManifests(input, settings);
    },
  },
  {
    name: `uninject: ${name}`,
    from: 30,
    work: (n) => {
      const input = Buffer.from(injectManifests(text(n), settings).text).toString();
      return () => uninjectManifests(input, keys, []);
    },
  },
]);
