import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { documents, section } from '../../support/jest/markdown.ts';

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
