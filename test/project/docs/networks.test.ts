import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { anchors, documents, prose, section } from '../../support/jest/markdown.ts';
import { documentedMetrics } from '../../support/operator/documented-metrics.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const crd = load(readFileSync('crd/networks.yaml', 'utf8')) as {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
};
const root = crd.spec.versions[0]?.schema.openAPIV3Schema;
const text = documents().find(({ path }) => path === 'docs/networks.md')?.text ?? '';

/** The fields in the first column of a section's table. */
function fields(heading: string): string[] {
  return [...section(text, heading).matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, field = '']) => field),
  );
}

test('docs/networks.md has the fields of the spec', () => {
  expect(fields('## The spec').sort()).toEqual(Object.keys(root?.properties?.spec?.properties ?? {}).sort());
});

test('every field has a description for kubectl explain', () => {
  const silent: string[] = [];
  const look = (schema: Schema | undefined, path: string) => {
    for (const [name, property] of Object.entries(schema?.properties ?? {})) {
      const here = `${path}.${name}`;
      if (!property.description && !/^\.(apiVersion|kind|metadata)$/.test(here)) silent.push(here);
      look(property, here);
      look(property.items, here);
    }
  };
  look(root, '');
  expect(silent).toEqual([]);
});

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly runbook_url: string };
}
const read = (file: string) => readFileSync(file, 'utf8');
const rules = (
  load(read('deploy/components/monitoring/prometheus-rule.yaml')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  }
).spec.groups.flatMap((group) => group.rules);
const tests = load(read('test/support/operator/alerts.test.yaml')) as readonly {
  readonly alert: string;
  readonly fires: object;
  readonly quiet: object;
}[];
const monitoring = read('docs/operations.md');
const troubleshooting = read('docs/troubleshooting.md');
const sections = new Map(troubleshooting.split(/^(?=#+ )/m).map((section) => [anchors(section)[0], section]));

test.each(rules)('$alert is documented, and tested for firing and for silence', ({ alert, ...rule }) => {
  expect(tests.filter((each) => each.alert === alert)).toEqual([
    expect.objectContaining({ fires: expect.anything(), quiet: expect.anything() }),
  ]);
  const [file, anchor = ''] = rule.annotations.runbook_url.split('#');
  expect(file).toBe('docs/troubleshooting.md');
  expect(rule.labels.severity).toMatch(/^(critical|warning)$/);
  expect(sections.get(anchor)).toContain(`\`${alert}\``);
});

test('every alert in the documents exists', () => {
  const named = [...`${monitoring}${troubleshooting}`.matchAll(/\bEnvoyInitializer\w+/g)].map(
    ([name]) => name,
  );
  expect(named.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
});

test('the code contains each message that docs/troubleshooting.md quotes', () => {
  const source = globSync('src/**/*.ts').map(read).join('\n');
  const quoted = [...prose(troubleshooting).matchAll(/(?:[Ll]og: |Event )`([^`]+)`/g)];
  expect(quoted.length).toBeGreaterThan(20);
  const missing = quoted
    .flatMap(([, message = '']) => message.split('…'))
    .map((part) => part.trim())
    .filter((part) => !source.includes(part));
  expect(missing).toEqual([]);
});

test('docs/operations.md has each metric of the code, with its type, and no other', () => {
  const source = globSync('src/**/*.ts').map(read).join('\n');
  const named = /'((?:envoy_initializer|controller_runtime|workqueue|rest_client|leader_election)_\w+)'/g;
  const inCode = new Set([...source.matchAll(named)].map(([, name = '']) => name));
  const types = new Map(documentedMetrics(monitoring).map(({ name, type }) => [name, type]));
  // Those of node agents stand in a sentence.
  const inDocument = [...types.keys(), ...(monitoring.match(/\benvoy_initializer_node_\w+/g) ?? [])];
  expect(inDocument.toSorted()).toEqual([...inCode].toSorted());
  const declared = new Map(
    [...source.matchAll(/new (Counter|Gauge|Histogram)\(\{\s*name: '(\w+)'/g)].map(
      ([, type = '', name = '']) => [name, type.toLowerCase()],
    ),
  );
  const wrong = [...types].filter(([name, type]) => (declared.get(name) ?? type) !== type);
  expect(wrong).toEqual([]);
});

test('make generate has nothing to change in the documents', async () => {
  const result = await runCommand(process.execPath, ['hack/generate-docs.ts', '--check'], {}, '');
  expect(result).toEqual({ code: 0, stdout: '', stderr: '' });
});

/** What a user reads: README and the pages of docs/, without decisions. */
const pages = documents().filter(({ path }) => /^(README|docs\/[^/]+)\.md$/.test(path));

test('a user has at most 14 pages of 12,000 words to read', () => {
  expect(pages.length).toBeLessThanOrEqual(14);
  const words = pages.map(({ text }) => text.split(/\s+/).filter(Boolean).length);
  expect(words.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(12_000);
});

test.each(pages)('$path has the words of Kubernetes and English, not those of this house', ({ text }) => {
  expect(text.match(/\b(also if|cannot go on|told|a walk|touched|rooms)\b|, too\b/gi) ?? []).toEqual([]);
});
