import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { baseOf } from './base-image.ts';
import { DOCKERFILES, pinBases } from './pin-bases.ts';
import { release } from './release.ts';
import { releaseVersion } from './release-version.ts';
import { Refusal } from './run.ts';
import { ensureTool } from './tools.ts';

const USAGE = `usage: node hack/release/cli.ts release --image REFERENCE --key KEY [OPTION…] | base-digest | tools

  release      build, push and sign the image, and attach its bill of materials and its provenance;
               with --version also the changelog, commit, tag, install.yaml, Helm chart, npm tarball and SBOM of a version
  base-digest  write the current digests of the base images into the Dockerfiles
  tools        build cosign, crane and Helm into the cache

  --version VERSION   MAJOR.MINOR.PATCH, which is also the tag of the image
  --dry-run           with --version: write only into out/, and do not commit, tag, push or sign
  --base REFERENCE    the base image, by digest (default: the Dockerfile's)
  --builder PROGRAM   docker, podman or buildah
  --push-flags FLAGS  more arguments of its push, separated by spaces
  --force             release a tree with uncommitted changes
  --transparency-log  publish each signature in sigstore's log

COSIGN_PASSWORD is the password of the key. COSIGN, CRANE and HELM are paths of these programs; by default, Go builds them once.
`;

class UsageError extends Error {}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      image: { type: 'string', default: '' },
      key: { type: 'string', default: '' },
      version: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      base: { type: 'string' },
      builder: { type: 'string', default: '' },
      'push-flags': { type: 'string', default: '' },
      force: { type: 'boolean', default: false },
      'transparency-log': { type: 'boolean', default: false },
    },
  });
}

function usable(args: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(args);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = usable(args);
  const command = positionals.join(' ');
  if (command === 'release') {
    const dockerfile = await readFile(join(projectDirectory(), 'Dockerfile'), 'utf8');
    const settings = {
      ...values,
      base: values.base ?? baseOf(dockerfile),
      pushFlags: values['push-flags'].split(' ').filter(Boolean),
      transparencyLog: values['transparency-log'],
    };
    const say = (line: string) => process.stdout.write(`${line}\n`);
    const { version, 'dry-run': dryRun } = values;
    const date = new Date().toISOString().slice(0, 10);
    if (version !== undefined) await releaseVersion({ version, date, dryRun, settings }, say, process.stderr);
    else if (dryRun) throw new UsageError('DRY_RUN=1 needs a version: write VERSION=1.2.3');
    else say((await release(settings, process.stderr)).reference);
  } else if (command === 'base-digest') {
    const crane = await ensureTool('crane', process.env, process.stderr);
    await pinBases(crane, projectDirectory(), DOCKERFILES, process.stderr);
  } else if (command === 'tools') {
    await ensureTool('cosign', process.env, process.stderr);
    await ensureTool('crane', process.env, process.stderr);
    await ensureTool('helm', process.env, process.stderr);
  } else throw new UsageError(USAGE.trimEnd());
}

try {
  await main(process.argv.slice(2));
} catch (err) {
  if (!(err instanceof Error)) throw err;
  const isExpected = err instanceof Refusal || err instanceof UsageError;
  process.stderr.write(`${isExpected ? err.message : err.stack}\n`);
  process.exitCode = err instanceof UsageError ? 2 : 1;
}
