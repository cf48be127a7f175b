import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { imageParts } from '../../../hack/deploy/image-reference.ts';
import { type Change, helmTemplate, type Manifests, valueName } from '../../../hack/helm/template.ts';
import { withValues } from '../../../hack/helm/values.ts';
import { serveOption } from '../../../src/cli/options/serve-options.ts';
import { RULES } from '../../../src/injection/rules/index.ts';

test('terminationGracePeriodSeconds is longer than a shutdown', async () => {
  const deployment = await readFile('deploy/base/deployment.yaml', 'utf8');
  const [, seconds] = /terminationGracePeriodSeconds: (\d+)/.exec(deployment) ?? [];
  expect(Number(seconds) * 1000).toBeGreaterThan(serveOption('shutdown-timeout').defaultValue);
});

test('the alert of skipped pods has each reason of which users are warned', () => {
  const rules = readFileSync('deploy/components/monitoring/prometheus-rule.yaml', 'utf8');
  const [, reasons = ''] = /decision="skipped", reason=~"(.*)"/.exec(rules) ?? [];
  const warned = RULES.filter(({ warn }) => warn === true).map(({ reason }) => reason);
  // Without a template nothing is skipped, and with an odd user the pod gets its sidecar.
  expect([...reasons.split('|'), 'no-template', 'proxy-user'].toSorted()).toEqual(warned.toSorted());
});

interface Values {
  readonly components: object;
}
interface Schema {
  readonly properties: { readonly components: { readonly properties: object } };
}

const manifests = (...objects: readonly (readonly [key: string, ...lines: string[]])[]): Manifests =>
  new Map(objects.map(([key, ...lines]) => [key, lines.map((line) => `${line}\n`).join('')]));

/** The template of components that need no other. */
function templateOf(base: Manifests, components: Readonly<Record<string, Manifests>>): string {
  const change = (after: Manifests): Change => ({ before: base, after });
  return helmTemplate(
    base,
    Object.fromEntries(Object.entries(components).map(([name, after]) => [name, change(after)])),
  );
}

test('the template of the Helm chart prints braces of the manifests', () => {
  expect(templateOf(manifests(['a', 'x: {{ $value }}']), {})).toBe('---\nx: {{ "{{" }} $value }}\n');
});

test('the template of the Helm chart is refused if two components replace one line, or add one object', () => {
  const base = manifests(['a', 'x: 1', 'y: 1']);
  const one = manifests(['a', 'x: 2', 'y: 1'], ['b', 'z: 1']);
  expect(() => templateOf(base, { one, two: manifests(['a', 'x: 3', 'y: 1']) })).toThrow(
    'two components replace line 1 of a: expected one',
  );
  expect(() => templateOf(base, { one, two: manifests(['a', 'x: 1', 'y: 1'], ['b', 'z: 1']) })).toThrow(
    'two components add b: expected one',
  );
});

test('the components of the Helm chart are values in camel case', () => {
  expect(['repair', 'cert-manager', 'all-pods'].map(valueName)).toEqual(['repair', 'certManager', 'allPods']);
});

test("manifests without the places of the Helm chart's values are refused", () => {
  expect(() => withValues('kind: Deployment\n', 'a')).toThrow(
    /^expected 1 times .* got 0: change hack\/helm/,
  );
});

test('each component is a value of the Helm chart, and in its schema', () => {
  const read = (file: string) => load(readFileSync(`deploy/helm/${file}`, 'utf8')) as Values & Schema;
  const expected = [...readdirSync('deploy/components').map(valueName), 'gatewayApi'].sort();
  expect(Object.keys(read('values.yaml').components).sort()).toEqual(expected);
  expect(Object.keys(read('values.schema.json').properties.components.properties).sort()).toEqual(expected);
});

test.each([
  ['envoy-initializer:v1', { newName: 'envoy-initializer', newTag: 'v1' }],
  ['registry.example.com:5000/team/app:v2', { newName: 'registry.example.com:5000/team/app', newTag: 'v2' }],
  ['registry.example.com:5000/team/app', { newName: 'registry.example.com:5000/team/app', newTag: 'latest' }],
  ['example.com/app@sha256:abc', { newName: 'example.com/app', digest: 'sha256:abc' }],
  ['example.com/app:v2@sha256:abc', { newName: 'example.com/app', digest: 'sha256:abc' }],
])('the image reference %s is split into its parts', (reference, parts) => {
  expect(imageParts(reference)).toEqual(parts);
});
