import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { commandsOf, documents, section } from '../../support/jest/markdown.ts';

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
  'docs/operations.md # Node agents': DOCS,
  'docs/operations.md # Policies': DOCS,
  'docs/operations.md # Repair': DOCS,
  'docs/operations.md # Without the operator': DOCS,
  'docs/routing.md # Canary': KIND,
  'docs/routing.md # Is it in use?': KIND,
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
  'docs/rollout.md # A new Envoy on a Friday':
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

test('nothing is listed that has no commands any more', () => {
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
