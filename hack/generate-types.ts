import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import type { Shape } from '../src/util/shape.ts';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';

/**
 * Generates the shape of Networks, which their types and the check of outside data come from, from their CRD, so that all
 * have one source. `node hack/generate-types.ts` writes it. `--check` only compares, and exits 1 if it differs.
 */
const COMMAND = 'node hack/generate-types.ts';
const CRD = 'crd/networks.yaml';
const TYPES = 'src/networks/api/types.ts';

/** The part of an OpenAPI schema that the CRD uses. */
interface Schema {
  readonly type: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

function shapeOf({ type, enum: kinds, properties = {}, required = [], items }: Schema): Shape {
  if (kinds) return kinds.join('|');
  if (items) return [shapeOf(items)];
  if (type !== 'object') return type === 'integer' ? 'number' : type;
  const members = Object.entries(properties).map(([name, schema]) => [
    required.includes(name) ? name : `${name}?`,
    shapeOf(schema),
  ]);
  return Object.fromEntries(members);
}

/** The text of the types, from the CRD (YAML). */
function typesOf(crd: string): string {
  const { spec } = load(crd) as {
    spec: { versions: readonly { name: string; schema: { openAPIV3Schema: Schema } }[] };
  };
  const version = spec.versions.find(({ name }) => name === 'v1');
  if (!version) throw new Error(`expected ${CRD} to define version v1, got none of that name`);
  const { spec: given, status } = version.schema.openAPIV3Schema.properties ?? {};
  if (!given || !status) throw new Error(`expected ${CRD} to define spec and status`);
  const shape = JSON.stringify({ spec: shapeOf(given), 'status?': shapeOf(status) });
  const text = `// Generated from ${CRD} by \`${COMMAND}\`: do not edit.

import type { KubeObject } from '../../kube/api/object.ts';
import type { Fitting } from '../../util/shape.ts';

/** The shape of what follows the metadata of a Network. */
export const NETWORK = ${shape} as const;

export type Network = KubeObject & Fitting<typeof NETWORK>;
export type NetworkSpec = Network['spec'];
export type NetworkStatus = NonNullable<Network['status']>;
export type Condition = NonNullable<NetworkStatus['conditions']>[number];
export type NetworkNode = NonNullable<NetworkStatus['nodes']>[number];
`;
  const biome = join(projectDirectory(), 'node_modules/.bin/biome');
  // By another name, as biome leaves generated files alone.
  return execFileSync(biome, ['format', '--stdin-file-path=types.ts'], { input: text, encoding: 'utf8' });
}

async function main(args: readonly string[]): Promise<number> {
  const project = projectDirectory();
  const file = join(project, TYPES);
  const wanted = typesOf(await readFile(join(project, CRD), 'utf8'));
  if (!args.includes('--check')) await writeFile(file, wanted);
  else if ((await readFile(file, 'utf8')) !== wanted) {
    console.error(`${TYPES} does not match ${CRD}: run \`${COMMAND}\` and commit the result.`);
    return 1;
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
