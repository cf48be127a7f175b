import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { ProgressStream } from '../../test/env/control-plane/progress.ts';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { imageParts } from '../deploy/image-reference.ts';
import { publishCommands, writeAssets } from './assets.ts';
import { build } from './build.ts';
import { unreleased, withRelease } from './changelog.ts';
import type { ReleaseSettings } from './obstacles.ts';
import { pushChart } from './push-chart.ts';
import { findObstacles, release } from './release.ts';
import { Refusal, run } from './run.ts';
import { readSource, repositoryOf } from './source.ts';
import { ensureTool, type ToolName } from './tools.ts';
import { versionObstacles, withVersion } from './version.ts';

/** A release of a version. */
export interface VersionRelease {
  readonly version: string;
  /** Its day, such as `2026-11-30`. */
  readonly date: string;
  /** Writes only into `out/`: changes a clone there, and neither commits, tags, pushes nor signs. */
  readonly dryRun: boolean;
  /** Those of the image. Its tag is the version. */
  readonly settings: ReleaseSettings;
}

const project = projectDirectory();
const git = (tree: string, ...args: readonly string[]) => run('git', ['-C', tree, ...args]);

/** Makes the commit, the tag, the image and the files of a version, and says which commands publish them. */
export async function releaseVersion(
  asked: VersionRelease,
  say: (line: string) => void,
  progress: ProgressStream,
): Promise<void> {
  const { version, dryRun } = asked;
  const settings = {
    ...asked.settings,
    image: `${imageParts(asked.settings.image).newName}:${version}`,
    force: false,
  };
  const { current, notes } = await check(version);
  const { revision, changed } = await readSource(project);
  const faults = await findObstacles({ ...settings, force: true });
  if (changed.length > 0) faults.unshift('the git tree has uncommitted changes: commit them');
  if (!dryRun && faults.length > 0) throw new Refusal(faults.join('\n'));
  for (const fault of faults) say(`a release would stop here: ${fault}`);
  if (!dryRun)
    for (const tool of ['cosign', 'crane', 'helm'] as const) await ensureTool(tool, process.env, progress);

  const output = join(project, 'out', `release-${version}`);
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const tree = dryRun ? await cloneInto(join(output, 'tree'), revision) : project;
  try {
    await takeSteps({ ...asked, settings, current, notes, tree, output }, say, progress);
  } catch (err) {
    const undo = `git tag --delete v${version}; git reset --hard ${revision}`;
    if (!dryRun) say(`The release stopped. Before the next try: ${undo}`);
    throw err;
  } finally {
    if (dryRun) await rm(tree, { recursive: true });
  }
}

/** A release without obstacles. */
interface CheckedRelease extends VersionRelease {
  /** The version before. */
  readonly current: string;
  readonly notes: string;
  /** The checkout, or its clone in a dry run. */
  readonly tree: string;
  /** The directory of the files. */
  readonly output: string;
}

async function takeSteps(
  { version, date, dryRun, settings, current, notes, tree, output }: CheckedRelease,
  say: (line: string) => void,
  progress: ProgressStream,
): Promise<void> {
  const inDryRun = (text: string) => (dryRun ? ` (dry run: ${text})` : '');
  const path = (name: string) => relative(project, join(output, name));
  const write = async (name: string, text: string) => {
    await writeFile(join(output, name), text);
    say(`   ${path(name)}`);
  };

  say(`1. ${current} becomes ${version}${inDryRun('in a clone of the last commit')}`);
  for (const file of await setVersion(tree, { from: current, to: version, date })) say(`   ${file}`);
  if (dryRun) await write('changes.patch', await git(tree, 'diff'));

  say(`2. commit chore(release): ${version}, tag v${version}${inDryRun('skipped')}`);
  if (!dryRun) {
    await git(tree, 'commit', '--quiet', '--all', '--message', `chore(release): ${version}`);
    await git(tree, 'tag', '--annotate', '--message', version, `v${version}`);
  }

  const hasBuilder = settings.builder !== '';
  const part = hasBuilder ? 'the build only' : 'skipped, there is no builder';
  say(`3. build, push and sign ${settings.image}${inDryRun(part)}`);
  if (dryRun && hasBuilder) await build(settings, tree);
  const pushed = dryRun ? undefined : await release(settings, progress);

  say(`4. files${inDryRun('without the SBOM, and with the image by tag: a push gives both')}`);
  if (dryRun) await write('CHANGELOG.md', await readFile(join(tree, 'CHANGELOG.md'), 'utf8'));
  await write('notes.md', notes);
  const image = pushed?.reference ?? settings.image;
  const files = await writeAssets({ version, tree, output, image });
  for (const file of files) say(`   ${path(file)}`);
  if (pushed !== undefined) {
    await write('sbom.cdx.json', pushed.billOfMaterials);
    const tool = (name: ToolName) => ensureTool(name, process.env, progress);
    const signer = { ...settings, cosign: await tool('cosign'), scratch: output };
    const archive = join(output, `envoy-initializer-chart-${version}.tgz`);
    say(`   ${await pushChart(await tool('helm'), settings, archive, signer)}`);
  }
  const tarball = basename(await pack(tree, output));
  say(`   ${path(tarball)}`);

  const { uri } = await readSource(project);
  const repository = repositoryOf(uri) ?? 'https://…';
  say(dryRun ? 'After a release, these commands publish it:' : 'The release is ready. To publish it:');
  for (const command of publishCommands(version, path(''), files, tarball, repository)) say(`   ${command}`);
}

/** Reads the current version and the notes of the next. Rejects with a Refusal if that cannot be a release. */
async function check(version: string): Promise<{ current: string; notes: string }> {
  const { version: current }: { version: string } = JSON.parse(
    await readFile(join(project, 'package.json'), 'utf8'),
  );
  const notes = unreleased(await readFile(join(project, 'CHANGELOG.md'), 'utf8'));
  const tagged = await git(project, 'tag', '--list', `v${version}`);
  const faults = [
    ...versionObstacles(version, current),
    ...(tagged === '' ? [] : [`the tag v${version} exists: write another VERSION`]),
    ...(notes === undefined ? ['CHANGELOG.md lists nothing under Unreleased'] : []),
  ];
  if (notes === undefined || faults.length > 0) throw new Refusal(faults.join('\n'));
  return { current, notes };
}

/** Clones the project, for a dry run, with the packages that are installed. Resolves to the directory. */
async function cloneInto(tree: string, revision: string): Promise<string> {
  await git(project, 'clone', '--quiet', '--shared', '--no-checkout', '.', tree);
  await git(tree, 'checkout', '--quiet', '--detach', revision);
  await symlink(join(project, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

/** Writes the version into each file that names it, and the heading into the changelog. Resolves to the paths. */
async function setVersion(
  tree: string,
  { from, to, date }: { readonly from: string; readonly to: string; readonly date: string },
): Promise<string[]> {
  const edit = async (file: string, change: (text: string) => string) => {
    const text = await readFile(join(tree, file), 'utf8');
    const changed = change(text);
    if (changed !== text) await writeFile(join(tree, file), changed);
    return changed === text ? [] : [file];
  };
  const listed = await git(tree, 'grep', '--files-with-matches', '-I', '--fixed-strings', from);
  const named = listed.split('\n').filter((file) => file !== '' && file !== 'CHANGELOG.md');
  const changed = await Promise.all(named.map((file) => edit(file, (text) => withVersion(text, from, to))));
  return [...(await edit('CHANGELOG.md', (text) => withRelease(text, to, date))), ...changed.flat()];
}

/** Compiles the program and packs the npm package. Resolves to the tarball's path. */
async function pack(tree: string, output: string): Promise<string> {
  await run('npm', ['run', '--silent', '--prefix', tree, 'build']);
  return (await run(process.execPath, [join(tree, 'hack/pack.ts'), output])).trim();
}
