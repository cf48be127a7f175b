import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';

/**
 * Generates the TypeScript types of custom resources from their CRDs, so that both have one source.
 * `node hack/generate-types.ts` writes them. `--check` only compares, and exits 1 if they differ.
 */
const COMMAND = 'node hack/generate-types.ts';

/** A kind whose types are generated. */
interface Kind {
  readonly name: string;
  /** The file of its CRD. */
  readonly crd: string;
  readonly types: string;
  /** The module of ObjectMeta, as types.ts imports it. */
  readonly metadata: string;
  /** Names of types by the path of their object in the schema. Other types are inline. */
  readonly titles: ReadonlyMap<string, string>;
}

const NETWORK: Kind = {
  name: 'Network',
  crd: 'crd/networks.yaml',
  types: 'src/networks/api/types.ts',
  metadata: '../../kube/api/object.ts',
  titles: new Map([
    ['spec', 'NetworkSpec'],
    ['status', 'NetworkStatus'],
    ['status.conditions[]', 'Condition'],
    ['status.capacity', 'NetworkCapacity'],
    ['status.nodes[]', 'NetworkNode'],
  ]),
};

/** The text of the types of a kind, from its CRD (YAML). */
async function typesOf(kind: Kind, crd: string): Promise<string> {
  const given = schemaOf(kind, crd);
  const schema: JSONSchema = {
    ...given,
    required: ['metadata', 'spec'],
    properties: { ...given.properties, metadata: { tsType: 'ObjectMeta' } },
  };
  const code = await compile(new Titles(kind).named(schema, ''), kind.name, {
    additionalProperties: false,
    bannerComment: `// Generated from ${kind.crd} by \`${COMMAND}\`: do not edit.

import type { ObjectMeta } from '${kind.metadata}';
`,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, bracketSpacing: true, printWidth: 110 },
  });
  return readonly(code);
}

function schemaOf(kind: Kind, crd: string): JSONSchema {
  const { spec } = load(crd) as {
    spec: { versions: readonly { name: string; schema: { openAPIV3Schema: JSONSchema } }[] };
  };
  const version = spec.versions.find(({ name }) => name === 'v1');
  if (!version) throw new Error(`expected ${kind.crd} to define version v1, got none of that name`);
  return version.schema.openAPIV3Schema;
}

/** Gives each object of a schema that gets its own type a title. */
class Titles {
  readonly #kind: Kind;
  /** The compiler gives one object one type, and two equal objects two. */
  readonly #titled = new Map<string, JSONSchema>();

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  named(schema: JSONSchema, path: string): JSONSchema {
    const title = this.#kind.titles.get(path);
    const known = title === undefined ? undefined : this.#titled.get(title);
    if (known) return known;
    const { description: _, minItems: _min, maxItems: _max, ...bare } = schema;
    const properties = Object.entries(schema.properties ?? {}).map(
      ([name, property]): [string, JSONSchema] => [
        name,
        this.named(property, path === '' ? name : `${path}.${name}`),
      ],
    );
    const named = {
      ...bare,
      ...(title && { title }),
      ...(schema.properties && { properties: Object.fromEntries(properties) }),
      ...(schema.items && !Array.isArray(schema.items) && { items: this.named(schema.items, `${path}[]`) }),
    };
    if (title !== undefined) this.#titled.set(title, named);
    return named;
  }
}

/** Makes each property and array readonly, because objects come from a shared cache. The generator has no option for it. */
function readonly(code: string): string {
  return code.replace(/^( +)(\w+\??:(?: |$))/gm, '$1readonly $2').replace(/: (\w+\[\])/g, ': readonly $1');
}

async function main(args: readonly string[]): Promise<number> {
  const project = projectDirectory();
  const file = join(project, NETWORK.types);
  const wanted = await typesOf(NETWORK, await readFile(join(project, NETWORK.crd), 'utf8'));
  if (!args.includes('--check')) await writeFile(file, wanted);
  else if ((await readFile(file, 'utf8')) !== wanted) {
    console.error(
      `${NETWORK.types} does not match ${NETWORK.crd}: run \`${COMMAND}\` and commit the result.`,
    );
    return 1;
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
