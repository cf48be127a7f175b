import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { hostTarget } from '../../control-plane/cache-directory.ts';

/** What a container of an image runs: the `config` of the OCI image specification. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly StopSignal?: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Its image's name within a layout. */
export const LAYOUT_TAG = 'latest';

const IMAGE = 'application/vnd.oci.image';

/** Makes an image of one layer, a directory's files, as an OCI layout (image-spec v1.1) in a directory that is there. */
export async function writeOciLayout(layout: string, rootfs: string, config: ImageConfig): Promise<void> {
  const blobs = join(layout, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const layer = await writeLayer(blobs, rootfs);
  const { goos, goarch } = hostTarget();
  const image = await writeBlob(blobs, `${IMAGE}.config.v1+json`, {
    architecture: goarch,
    os: goos,
    config,
    // Of the layer before compression, and this one is not compressed: it need not travel far.
    history: [{ created_by: 'test/env/cluster/images' }],
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const manifest = await writeBlob(blobs, `${IMAGE}.manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${IMAGE}.manifest.v1+json`,
    config: image,
    layers: [layer],
  });
  await writeFile(
    join(layout, 'index.json'),
    JSON.stringify({
      schemaVersion: 2,
      manifests: [{ ...manifest, annotations: { 'org.opencontainers.image.ref.name': LAYOUT_TAG } }],
    }),
  );
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}

async function writeLayer(blobs: string, rootfs: string): Promise<Descriptor> {
  const file = join(blobs, 'layer.new');
  // The same files give the same digest.
  const stable = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=a+rX'];
  const tar = spawn('tar', ['--create', ...stable, '--directory', rootfs, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(tar, 'close');
  const hash = createHash('sha256');
  tar.stdout.on('data', (chunk: Buffer) => hash.update(chunk));
  await pipeline(tar.stdout, createWriteStream(file));
  const [code] = await ended;
  if (code !== 0) throw new Error(`tar of ${rootfs} ended with code ${code}`);
  const digest = hash.digest('hex');
  await rename(file, join(blobs, digest));
  const { size } = await stat(join(blobs, digest));
  return { mediaType: `${IMAGE}.layer.v1.tar`, digest: `sha256:${digest}`, size };
}

async function writeBlob(blobs: string, mediaType: string, content: unknown): Promise<Descriptor> {
  const bytes = Buffer.from(JSON.stringify(content));
  const digest = createHash('sha256').update(bytes).digest('hex');
  await writeFile(join(blobs, digest), bytes);
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
}
