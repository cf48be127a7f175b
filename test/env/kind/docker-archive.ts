import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Described {
  readonly digest: string;
}

/**
 * Writes an image, an OCI layout, as `docker save` writes one (image specification of Docker, v1.2), to a command that
 * reads it: Docker 20.10 takes no layouts, and containerd takes names for images from an archive alone.
 * @throws Error with what the command said where it fails.
 */
export async function sendArchive(
  layout: string,
  names: readonly string[],
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const blob = async (digest: string) => JSON.parse(await readFile(join(layout, pathOf(digest)), 'utf8'));
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'));
  const manifest = await blob(index.manifests[0].digest);
  const layers: readonly Described[] = manifest.layers;
  const directory = await mkdtemp(join(tmpdir(), 'archive-'));
  try {
    const entry = {
      Config: pathOf(manifest.config.digest),
      RepoTags: names,
      Layers: layers.map(({ digest }) => pathOf(digest)),
    };
    await writeFile(join(directory, 'manifest.json'), JSON.stringify([entry]));
    const tar = spawn('tar', ['-c', '-C', directory, 'manifest.json', '-C', layout, 'blobs'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const reader = spawn(command, args, { env, stdio: [tar.stdout, 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [reader.stdout, reader.stderr]) stream?.on('data', (text) => (said += text));
    const [code] = await once(reader, 'close');
    if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${said.trim()}`);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}
