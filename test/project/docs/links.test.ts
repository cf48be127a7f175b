import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { optionsOf } from '../../support/cli/command-options.ts';
import { anchors, commandsOf, documents, prose, section } from '../../support/jest/markdown.ts';

test.each(documents())('every link of $path has a target', ({ path, text }) => {
  const links = [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const dead = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : normalize(join(dirname(path), file));
    const where = join(projectDirectory(), target);
    if (!existsSync(where)) return true;
    return anchor !== undefined && !anchors(readFileSync(where, 'utf8')).includes(anchor);
  });
  expect(dead).toEqual([]);
});

// GitHub ends a cell at each pipe without a backslash, also inside of code.
test.each(documents())('every table of $path has as many cells in each row as in its heading', ({ text }) => {
  const wrong: string[] = [];
  let columns: number | undefined;
  for (const line of prose(text).split('\n')) {
    const cells = line.startsWith('|') ? line.split(/(?<!\\)\|/).length : undefined;
    if (cells !== undefined && columns !== undefined && cells !== columns) wrong.push(line);
    columns = cells === undefined ? undefined : (columns ?? cells);
  }
  expect(wrong).toEqual([]);
});

const sources = globSync('{src,deploy,hack}/**/*.{ts,yaml}', { cwd: projectDirectory() });

test('every page, anchor and heading that the code, manifests and messages name exists', () => {
  const dead = sources.flatMap((source) => {
    const text = readFileSync(join(projectDirectory(), source), 'utf8');
    const named = text.matchAll(/(?:"([^"\n]+)" in )?\b(docs\/[\w-]+\.md)(?:#([\w-]+))?/g);
    return [...named].flatMap(([all, heading, file = '', anchor]) => {
      const page = documents().find(({ path }) => path === file)?.text;
      const hasHeading = heading === undefined || page?.includes(`# ${heading}\n`);
      const isThere =
        page !== undefined && hasHeading && (anchor === undefined || anchors(page).includes(anchor));
      return isThere ? [] : [`${source}: ${all}`];
    });
  });
  expect(sources.length).toBeGreaterThan(100);
  expect(dead).toEqual([]);
});

const root = projectDirectory();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const folders = (path: string) =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
const modules = folders('src');
const addOns = folders('src/addons').map((name) => `addons/${name}`);

/** The texts in backticks that look like a file or folder. */
const pathsIn = (text: string) => [...text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, path = '']) => path);

test('the tree of docs/architecture.md has exactly the modules of src', () => {
  const tree = /^src\/\n([\s\S]*?)^```/m.exec(read('docs/architecture.md'))?.[1] ?? '';
  const named = [...tree.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(modules.sort());
  for (const name of addOns) expect(tree).toContain(` ${name.replace('addons/', '')}/ `);
  const paths = pathsIn(read('docs/architecture.md')).filter((path) => path.includes('/'));
  const missing = paths.filter((path) => ['src', ''].every((from) => !existsSync(join(root, from, path))));
  expect(missing).toEqual([]);
});

test.each([...modules.filter((name) => name !== 'addons'), ...addOns])(
  'src/%s/README.md names files that exist',
  (name) => {
    const paths = pathsIn(read(`src/${name}/README.md`));
    expect(paths.length).toBeGreaterThan(1);
    // Other modules, folders of the project and files of this module.
    const missing = paths.filter((path) =>
      ['src', '', `src/${name}`].every((from) => !existsSync(join(root, from, path))),
    );
    expect(missing).toEqual([]);
  },
);

test.each(['docs/architecture.md', 'docs/development.md'])('%s names files that exist', (document) => {
  const paths = pathsIn(read(document)).filter((path) => /^(src|test|hack|deploy|docs|crd)\//.test(path));
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

const all = documents().flatMap(({ path, text }) =>
  commandsOf(text).map(({ command }) => ({ path, command })),
);
const targets = [
  ...readFileSync(join(projectDirectory(), 'Makefile'), 'utf8').matchAll(/^([a-z0-9-]+):/gm),
].map(([, target = '']) => target);

/** The commands of a line, each with its words. A quoted text is one word. */
function pipeline(line: string): readonly (readonly string[])[] {
  const quiet = line.replaceAll(/'[^']*'|"[^"]*"/g, 'quoted').replaceAll(/\$\([^)]*\)/g, 'substituted');
  return quiet.split(/\s*(?:\|\||\||&&|;|>)\s*/).map((each) => each.split(/\s+/).filter(Boolean));
}

const calls = (program: string) =>
  all.flatMap(({ path, command }) =>
    pipeline(command).flatMap((words) => {
      const at = words.indexOf(program);
      const before = words.slice(0, Math.max(at, 0));
      // Environment variables and sudo may come first.
      return at < 0 || !before.every((word) => /=|^sudo$/.test(word))
        ? []
        : [{ path, words: words.slice(at + 1) }];
    }),
  );

test('the documents contain commands', () => {
  for (const program of ['make', 'kubectl', 'envoy-initializer']) {
    expect(calls(program).length).toBeGreaterThan(5);
  }
});

test('every make target in a document exists', () => {
  const named = calls('make').flatMap(({ words }) => words.filter((word) => /^[a-z0-9-]+$/.test(word)));
  expect(named.filter((name) => !targets.includes(name))).toEqual([]);
});

test('make help lists every target, without colors in a pipe', async () => {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm' };
  const { stdout } = await runCommand('make', ['--directory', projectDirectory(), 'help'], env, '');
  const listed = [...stdout.matchAll(/^ {2}([a-z0-9-]+) +[A-Z]/gm)].map(([, target]) => target);
  expect(listed.toSorted()).toEqual(targets.toSorted());
  expect(stdout).not.toContain('\u001b');
});

test('every envoy-initializer command in a document exists, with its flags', () => {
  const unknown = calls('envoy-initializer').flatMap(({ path, words: [command = '', ...words] }) => {
    const options = optionsOf(command);
    if (!options) return [`${path}: ${command}`];
    const flags = words
      .filter((word) => /^-{1,2}[a-zA-Z]/.test(word))
      .map((word) => word.split('=')[0] ?? '');
    return flags.filter((flag) => !options.includes(flag)).map((flag) => `${path}: ${command} ${flag}`);
  });
  expect(unknown).toEqual([]);
});

test('every project file in a command exists', () => {
  const files = all.flatMap(({ path, command }) =>
    pipeline(command)
      .flat()
      .map((word) => word.replace(/^.*=/, ''))
      // But kubectl's deploy/NAME is not a file.
      .filter((word) => /^((crd|docs|hack|src|test)\/[\w./-]+|deploy\/[\w./-]+[./][\w.-]+)$/.test(word))
      .map((file) => ({ path, file })),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter(({ file }) => !existsSync(join(projectDirectory(), file)))).toEqual([]);
});

/** The test that types the commands of a section, as printed. The file names the section's heading or its commands. */
const DOCS = 'test/integration/cli/docs.test.ts';
const KIND = 'test/e2e/kind.test.ts';
const GITOPS = 'test/support/operator/gitops-objects.ts';
const INSTALLED = 'test/support/cluster/kind-installed.ts';
const TYPED: Readonly<Record<string, string>> = {
  'README.md # Install': KIND,
  'README.md # What happens': DOCS,
  'README.md # On the command line': DOCS,
  'docs/cli.md # inject': DOCS,
  'docs/cli.md # uninject': DOCS,
  'docs/cli.md # check': DOCS,
  'docs/cli.md # lint': DOCS,
  'docs/cli.md # version': DOCS,
  'docs/envoy.md # All connections of a pod': KIND,
  'deploy/examples/canary-without-capture/README.md # Canary without capture': KIND,
  'docs/envoy.md # Configure Envoy': DOCS,
  'docs/envoy.md # Check a configuration': DOCS,
  'docs/install.md # Further templates': DOCS,
  'docs/install.md # In your cluster': INSTALLED,
  'docs/install.md # The image': KIND,
  'docs/install.md # The template': DOCS,
  'docs/install.md # Uninstall': KIND,
  'docs/install.md # Upgrade': DOCS,
  'docs/install.md # What is installed': DOCS,
  'docs/install.md # With Helm': INSTALLED,
  'docs/install.md # With kind': KIND,
  'docs/gitops.md # Argo CD': GITOPS,
  'docs/gitops.md # Flux': GITOPS,
  'docs/networks.md # Walkthrough': DOCS,
  'docs/networks.md # Pods on a Network': DOCS,
  'docs/networks.md # Tenants': DOCS,
  'docs/neutron.md # Walkthrough': 'test/integration/neutron/neutron-operator.test.ts',
  'docs/operations.md # Alerts and dashboard': DOCS,
  'docs/operations.md # Logs': INSTALLED,
  'docs/operations.md # Missed and stale pods': DOCS,
  'docs/operations.md # Policies': DOCS,
  'docs/operations.md # Without the operator': DOCS,
  'docs/routing.md # Canary': KIND,
  'docs/routing.md # Check a route': KIND,
  'docs/routing.md # Set up': KIND,
  'docs/troubleshooting.md # Troubleshooting, by message': KIND,
  'docs/troubleshooting.md # A pod runs without its sidecar': DOCS,
  'docs/troubleshooting.md # Pods are refused after an uninstall': DOCS,
};

/** Why the commands of a section are not typed as printed, and which test does the same. */
const NOT_AS_PRINTED: Readonly<Record<string, string>> = {
  'CONTRIBUTING.md # Release':
    'needs a registry of yours; test/tools/supply/release-version.test.ts and test/e2e/release.test.ts do the same',
  'README.md # Try it': 'CI runs make test; test/integration/cli/demo.test.ts runs what make run does',
  'docs/install.md # Verify it':
    'test/e2e/release.test.ts types them with its own registry in place of the example',
  'docs/rollout.md # Roll out a new Envoy':
    'shows a moment of a rollout; test/e2e/kind.test.ts types the commands on a fleet',
  'test/env/cluster/README.md # Another cluster': 'make e2e itself runs on the own node',
  'test/env/kind/README.md # A cluster of kind, with the operator in it':
    'test/e2e/kind.test.ts makes such a cluster',
};

const sections = documents().flatMap(({ path, text }) =>
  text.split(/^(?=#+ )/m).flatMap((part) => {
    const [first = ''] = part.split('\n');
    return commandsOf(part).length > 0 ? [`${path} # ${first.replace(/^#+ /, '')}`] : [];
  }),
);

test('every section with commands is typed by a test, or says why not', () => {
  const known = { ...TYPED, ...NOT_AS_PRINTED };
  expect(sections.filter((section) => !Object.hasOwn(known, section))).toEqual([]);
});

test('no section is listed as typed by a test that has no commands any more', () => {
  const listed = [...Object.keys(TYPED), ...Object.keys(NOT_AS_PRINTED)];
  const hasCommands = (name: string) =>
    documents().some(({ path, text }) => {
      const heading = text.split('\n').find((line) => `${path} ${line.replace(/^#+/, '#')}` === name);
      return heading !== undefined && commandsOf(section(text, heading)).length > 0;
    });
  expect(listed.filter((name) => !hasCommands(name))).toEqual([]);
});

test.each(Object.entries(TYPED))('%s is typed by %s', (name, file) => {
  const [path = '', heading = ''] = name.split(' # ');
  const source = readFileSync(join(projectDirectory(), file), 'utf8');
  expect(source).toContain(path);
  expect(source).toMatch(new RegExp(`['"]#+ ${heading.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}['"]`));
});
