import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { writeOciLayout } from '../../env/cluster/images/oci-layout.ts';
import { answer } from '../../env/cluster/registry/answer.ts';
import { linkImage } from '../../env/cluster/registry/image-links.ts';

let directory: string;
let images: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'registry-test-'));
  images = join(directory, 'images');
  await mkdir(images);
});
afterEach(() => rmSync(directory, { recursive: true }));

/** An image that holds one file, with this content and time. */
async function layoutOf(content: string, time = 1): Promise<string> {
  const layout = join(directory, `layout-${content}-${time}`);
  const rootfs = join(directory, `rootfs-${content}-${time}`);
  await mkdir(rootfs);
  writeFileSync(join(rootfs, 'file'), content);
  utimesSync(join(rootfs, 'file'), time, time);
  await writeOciLayout(layout, rootfs, { Cmd: ['sh'] });
  return layout;
}

/** Asked as containerd asks a mirror of docker.io. */
const get = (path: string, ns = 'docker.io') =>
  answer(images, new URL(`http://registry:5000/v2/library/${path}?ns=${ns}`));

async function digestOf(path: string): Promise<string> {
  const found = await get(path);
  if (!('digest' in found)) throw new Error(`${path}: ${found.status}`);
  return found.digest;
}

test('a digest leads to its image, whatever has the tag since', async () => {
  await expect(linkImage(images, 'app', await layoutOf('old'))).resolves.toBe(false);
  const old = await digestOf('app/manifests/latest');
  await expect(linkImage(images, 'app', await layoutOf('new'))).resolves.toBe(true);
  await linkImage(images, 'app:1', await layoutOf('old', 2));
  expect(await digestOf('app/manifests/latest')).not.toBe(old);
  expect(await digestOf(`app/manifests/${old}`)).toBe(old);
});
