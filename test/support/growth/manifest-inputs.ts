import { Command } from 'commander';
import { dump } from 'js-yaml';
import { checkOffline } from '../../../src/cli/check/check-site.ts';
import { addLintOptions, type LintOptions, lintCommand } from '../../../src/cli/lint/lint.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { injectManifests } from '../../../src/injection/manifests/inject-manifests.ts';
import { uninjectManifests } from '../../../src/injection/manifests/uninject-manifests.ts';
import { podSites } from '../../../src/injection/podspec/workload.ts';
import { classify, isMissed } from '../../../src/injection/webhook/classify.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { readManifests } from '../../../src/util/yaml-edit/manifests.ts';
import { MemoryTerminal } from '../cli/memory-terminal.ts';
import { DEMO_TEMPLATE, demoPod, podWith, templateSet } from '../injection/demo.ts';
import { type GrowingInput, times } from './growing-input.ts';

const keys = keysFor();
const decide = { keys, requireAnnotation: true, operatorNamespace: 'envoy-initializer' };
const settings = { decide, state: { set: templateSet() }, namespace: 'default', podTemplates: [] };

/** A text of manifests, as each command of the command line works on it. */
function manifests(name: string, text: (n: number) => string): readonly GrowingInput[] {
  const injected = (n: number) => injectManifests(text(n), settings).text;
  const from = 30;
  return [
    {
      name: `inject: ${name}`,
      from,
      work: (n) => work(text(n), (input) => injectManifests(input, settings)),
    },
    {
      name: `uninject: ${name}`,
      from,
      work: (n) => work(injected(n), (input) => uninjectManifests(input, keys, [])),
    },
    {
      name: `check: ${name}`,
      from,
      work: (n) =>
        work(text(n), (input) =>
          [...podSites({ kind: 'List', items: readManifests(input) })].map((site) =>
            checkOffline(site, { ...settings, settings: { namespaceLabels: {} } }),
          ),
        ),
    },
  ];
}

/** The text is one string, as a file that is read is. */
function work(text: string, run: (input: string) => unknown): () => unknown {
  const input = Buffer.from(text).toString();
  return () => run(input);
}

const pod = (index: number): JsonObject => ({
  ...demoPod(),
  metadata: { ...(demoPod().metadata as JsonObject), name: `pod-${index}` },
});
const list = (n: number) => ({ apiVersion: 'v1', kind: 'List', items: times(n, pod) });
const wide = (n: number) =>
  podWith({ containers: times(n, (i) => ({ name: `app-${i}`, image: 'busybox' })) });

export const MANIFESTS: readonly GrowingInput[] = [
  ...manifests('documents', (n) => times(n, (i) => dump(pod(i))).join('---\n')),
  ...manifests('documents, one of which cannot be edited', (n) =>
    [': 2\n', ...times(n, (i) => dump(pod(i)))].join('---\n'),
  ),
  ...manifests('documents with an anchor each', (n) =>
    times(n, (i) => dump(pod(i)).replace('containers:', 'containers: &c').concat('x: *c\n')).join('---\n'),
  ),
  ...manifests('documents that say nothing', (n) => 'kind: ConfigMap\n---\n'.repeat(n)),
  ...manifests('items of a List', (n) => dump(list(n))),
  ...manifests('items of a List in JSON', (n) => JSON.stringify(list(n), null, 2)),
  ...manifests('items of a List in JSON on one line', (n) => JSON.stringify(list(n))),
  ...manifests('Lists in Lists', (n) => {
    let nested: JsonObject = pod(0);
    for (let depth = 0; depth < Math.min(n, 40); depth += 1) nested = { kind: 'List', items: [nested] };
    return JSON.stringify(nested);
  }),
  ...manifests('containers of a pod', (n) => dump(wide(n))),
  ...manifests('containers of a pod in JSON on one line', (n) => JSON.stringify(wide(n))),
  ...manifests('letters on a line before a pod', (n) => `# ${'x'.repeat(100 * n)}\n${dump(pod(0))}`),
  ...manifests('letters of a value', (n) =>
    dump(podWith({}, { annotations: { a: 'x'.repeat(100 * n), 'initializer.kubernetes.io/envoy': 'true' } })),
  ),
  ...manifests('comments', (n) => `${'# x\n'.repeat(10 * n)}${dump(pod(0))}`),
  ...manifests('namespaces', (n) =>
    times(n, (i) => dump({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `n-${i}` } })).join(
      '---\n',
    ),
  ),
];

const options = (): LintOptions => addLintOptions(new Command()).parse(['node', 'x', 'f']).opts();
const lint = (name: string, text: (n: number) => string, more: Partial<LintOptions> = {}): GrowingInput => ({
  name: `lint: ${name}`,
  work: (n) => {
    const terminal = new MemoryTerminal({ f: Buffer.from(text(n)).toString() });
    return () => lintCommand(['f'], { ...options(), ...more }, terminal, []);
  },
});
const configMap = (config: string, index = 0) =>
  dump({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c-${index}` }, data: { config } });

export const LINTS: readonly GrowingInput[] = [
  lint('ConfigMaps', (n) => times(n, (i) => configMap(DEMO_TEMPLATE, i)).join('---\n')),
  lint('ConfigMaps with faults', (n) => times(n, (i) => configMap('contaners: [1]\n', i)).join('---\n')),
  lint(
    'faults in one template',
    (n) => `containers:\n${times(n, (i) => `- {name: c-${i}, imag: x}\n`).join('')}`,
  ),
  lint('lines before a fault', (n) => `${'\n'.repeat(20 * n)}contaners: [1]\n`),
  lint('templates in a ConfigMap', (n) =>
    dump({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      data: Object.fromEntries(times(n, (i) => [i === 0 ? 'config' : `config.t-${i}`, 'contaners: [1]\n'])),
    }),
  ),
];

const live = (n: number) =>
  times(n, (i) => ({
    ...pod(i),
    metadata: { name: `p-${i}`, namespace: 'default', labels: { [keys.optIn]: 'true' } },
  }));

export const FLEET: readonly GrowingInput[] = [
  {
    name: 'drift: pods',
    work: (n) => {
      const pods = live(n);
      const basis = { options: decide, state: settings.state };
      const nothing = { namespaceLabels: {} };
      return () =>
        pods.filter(
          (each) => classify(each, nothing, basis) === 'maybe-missed' && isMissed(each, nothing, basis),
        );
    },
  },
];
