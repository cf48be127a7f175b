import { readFile, writeFile } from 'node:fs/promises';
import { load } from 'js-yaml';
import { compile, type JSONSchema } from 'json-schema-to-typescript';

/**
 * Generates the TypeScript types of Network from its CRD, so that both have one source.
 * `node hack/generate-types.ts` writes them. `--check` only compares, and exits 1 if they differ.
 */
const CRD_FILE = new URL('../crd/networks.yaml', import.meta.url);
const TYPES_FILE = new URL('../src/network/api/types.ts', import.meta.url);
const COMMAND = 'node hack/generate-types.ts';

const BANNER = `// Generated from crd/networks.yaml by \`${COMMAND}\`: do not edit.

import type { ObjectMeta } from '../../kube/api/object.ts';
`;

/** Names of types by the path of their object in the schema. Other types are inline. */
const TITLES: ReadonlyMap<string, string> = new Map([
  ['spec', 'NetworkSpec'],
  ['status', 'NetworkStatus'],
  ['status.conditions[]', 'Condition'],
  ['status.capacity', 'NetworkCapacity'],
  ['status.nodes[]', 'NetworkNode'],
]);

/** The text of types.ts for a CRD (YAML). */
export async function typesOf(crd: string): Promise<string> {
  const given = schemaOf(crd);
  const schema: JSONSchema = {
    ...given,
    required: ['metadata', 'spec'],
    properties: { ...given.properties, metadata: { tsType: 'ObjectMeta' } },
  };
  const code = await compile(named(schema, ''), 'Network', {
    additionalProperties: false,
    bannerComment: BANNER,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, bracketSpacing: true, printWidth: 110 },
  });
  return readonly(code);
}

function schemaOf(crd: string): JSONSchema {
  const { spec } = load(crd) as {
    spec: { versions: readonly { name: string; schema: { openAPIV3Schema: JSONSchema } }[] };
  };
  const version = spec.versions.find(({ name }) => name === 'v1');
  if (!version) throw new Error('expected crd/networks.yaml to define version v1, got none of that name');
  return version.schema.openAPIV3Schema;
}

/** The schema with a title on each object that gets its own type. */
function named(schema: JSONSchema, path: string): JSONSchema {
  const title = TITLES.get(path);
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]): [string, JSONSchema] => [
    name,
    named(property, path === '' ? name : `${path}.${name}`),
  ]);
  return {
    ...schema,
    ...(title && { title }),
    ...(schema.properties && { properties: Object.fromEntries(properties) }),
    ...(schema.items && !Array.isArray(schema.items) && { items: named(schema.items, `${path}[]`) }),
  };
}

/** Makes each property and array readonly, because objects come from a shared cache. The generator has no option for it. */
function readonly(code: string): string {
  return code.replace(/^( +)(\w+\??: )/gm, '$1readonly $2').replace(/: (\w+\[\])/g, ': readonly $1');
}

async function main(args: readonly string[]): Promise<number> {
  const wanted = await typesOf(await readFile(CRD_FILE, 'utf8'));
  if (!args.includes('--check')) {
    await writeFile(TYPES_FILE, wanted);
    return 0;
  }
  if ((await readFile(TYPES_FILE, 'utf8')) === wanted) return 0;
  console.error(
    `src/network/api/types.ts does not match crd/networks.yaml: run \`${COMMAND}\` and commit the result.`,
  );
  return 1;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
