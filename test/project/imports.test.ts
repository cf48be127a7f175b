import { globSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../env/control-plane/project-directory.ts';

const ROOT = join(projectDirectory(), 'src');
const FEATURES = ['util', 'kube', 'injection', 'injection/webhook'];
const PARTS = [...FEATURES, 'networks', 'networks/agent', 'certificates'];
const CORE = [...PARTS, 'operator', 'cli'];

/** What each module may import. A file belongs to the longest name that its path begins with. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  util: [],
  kube: ['util'],
  injection: ['util'],
  'injection/webhook': FEATURES,
  certificates: ['util', 'kube'],
  networks: ['util', 'kube', 'injection'],
  'networks/agent': ['util', 'kube', 'networks'],
  'addons/manifests': CORE,
  'addons/policies': CORE,
  'addons/routes': CORE,
  'addons/rollout': CORE,
  'addons/drift': CORE,
  'addons/neutron': CORE,
  operator: PARTS,
  cli: CORE,
  addons: [
    'cli',
    'addons/manifests',
    'addons/policies',
    'addons/routes',
    'addons/rollout',
    'addons/drift',
    'addons/neutron',
  ],
  'program.ts': ['cli', 'addons'],
  'main.ts': ['kube', 'cli', 'program.ts'],
};
/** No client, logger, clock or I/O. */
const PURE = ['util', 'injection', 'addons/routes/compile', 'addons/rollout/plan', 'addons/manifests'];
const IMPURE = ['injection/webhook'];
const EFFECTS = /^(@kubernetes\/|express$|pino|prom-client$|undici|ws$|node:(?!crypto$))/;

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));

function within(path: string, modules: readonly string[]): string | undefined {
  const found = modules.filter((name) => path === name || path.startsWith(`${name}/`));
  return found.sort((a, b) => b.length - a.length)[0];
}

function importsOf(path: string): readonly string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [...text.matchAll(/(?:^(?:import|export)\b[^;'"]*?\bfrom |^import |\bimport\()'([^']+)'/gm)].map(
    ([, from = '']) => from,
  );
}

test('each module of src imports only those below it', () => {
  const modules = Object.keys(MAY_IMPORT);
  const wrong = files.flatMap((path) => {
    const own = within(path, modules) ?? path;
    return importsOf(path)
      .filter((from) => from.startsWith('.'))
      .map((from) => join(dirname(path), from))
      .filter((to) => {
        const other = within(to, modules) ?? to;
        return other !== own && !(MAY_IMPORT[own] ?? []).includes(other);
      })
      .map((to) => `${path} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test('pure modules of src import no client, logger, clock or I/O', () => {
  const wrong = files
    .filter((path) => within(path, PURE) !== undefined && within(path, IMPURE) === undefined)
    .flatMap((path) => importsOf(path).map((from) => ({ path, from })))
    .filter(({ from }) => EFFECTS.test(from) || builtinModules.includes(from))
    .map(({ path, from }) => `${path} imports ${from}`);
  expect(wrong).toEqual([]);
});

test('the folders of src/networks import each other in one direction', () => {
  const inNetworks = files.filter((path) => path.startsWith('networks/'));
  // A file beside the folders stands for itself.
  const folderOf = (path: string) => (path.split('/').length > 2 ? dirname(path) : path);
  const below = new Map<string, Set<string>>();
  for (const path of inNetworks) {
    const targets = importsOf(path).map((from) => join(dirname(path), from));
    const others = targets.filter((to) => inNetworks.includes(to)).map(folderOf);
    const own = folderOf(path);
    below.set(own, new Set([...(below.get(own) ?? []), ...others.filter((other) => other !== own)]));
  }
  // What is left after taking away, again and again, what imports nothing of the rest.
  for (let size = -1; size !== below.size; ) {
    size = below.size;
    for (const [folder, others] of below) {
      if (![...others].some((other) => below.has(other))) below.delete(folder);
    }
  }
  expect([...below.keys()]).toEqual([]);
});

/** `make dev`, generators and tools run the sources as they are; the compiler accepts more than Node's own parser. */
test('Node runs each source without a compiler', () => {
  const files = globSync('{src,hack,test}/**/*.ts', { cwd: projectDirectory() });
  expect(files.length).toBeGreaterThan(500);
  const refused = files.filter((file) => {
    try {
      stripTypeScriptTypes(readFileSync(join(projectDirectory(), file), 'utf8'));
      return false;
    } catch {
      return true;
    }
  });
  expect(refused).toEqual([]);
});
