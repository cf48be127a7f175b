import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
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

/** An image that holds one file. */
async function layoutOf(content: string): Promise<string> {
  const layout = join(directory, `layout-${content}`);
  const rootfs = join(directory, `rootfs-${content}`);
  await mkdir(rootfs);
  writeFileSync(join(rootfs, 'file'), content);
  await writeOciLayout(layout, rootfs, { Cmd: ['sh'] });
  return layout;
}

/** Asked as containerd asks a mirror of docker.io. */
function get(path: string, ns = 'docker.io') {
  return answer(images, new URL(`http://registry:5000${path}?ns=${ns}`));
}

async function json(path: string) {
  const found = await get(path);
  if (!('file' in found)) throw new Error(`${path}: ${found.status}`);
  return { ...found, content: JSON.parse(readFileSync(found.file, 'utf8')) };
}

describe('the node’s registry', () => {
  test('leads from a name by its manifest to the config and the layer', async () => {
    await linkImage(images, 'busybox', await layoutOf('one'));
    const manifest = await json('/v2/library/busybox/manifests/latest');
    expect(manifest.contentType).toBe('application/vnd.oci.image.manifest.v1+json');
    await expect(json(`/v2/library/busybox/manifests/${manifest.digest}`)).resolves.toEqual(manifest);
    const config = await json(`/v2/library/busybox/blobs/${manifest.content.config.digest}`);
    expect(config.content.config).toEqual({ Cmd: ['sh'] });
    await expect(
      get(`/v2/library/busybox/blobs/${manifest.content.layers[0].digest}`),
    ).resolves.toMatchObject({
      status: 200,
    });
    expect(config.content.rootfs.diff_ids).toEqual([manifest.content.layers[0].digest]);
  });

  test('gives what a digest names, whatever has the tag since', async () => {
    await linkImage(images, 'app:1', await layoutOf('old'));
    await linkImage(images, 'app:2', await layoutOf('new'));
    const [old, recent] = await Promise.all([
      json('/v2/library/app/manifests/1'),
      json('/v2/library/app/manifests/2'),
    ]);
    expect(old.digest).not.toBe(recent.digest);
    await expect(json(`/v2/library/app/manifests/${old.digest}`)).resolves.toEqual(old);
  });

  test('tells whether a name had another image before', async () => {
    const [first, second] = [await layoutOf('first'), await layoutOf('second')];
    await expect(linkImage(images, 'app', first)).resolves.toBe(false);
    await expect(linkImage(images, 'app', first)).resolves.toBe(false);
    await expect(linkImage(images, 'app', second)).resolves.toBe(true);
  });

  test.each([
    ['another tag', '/v2/library/busybox/manifests/1.36', 'docker.io'],
    ['another registry’s image of that name', '/v2/library/busybox/manifests/latest', 'quay.io'],
    ['a blob that no image has', `/v2/library/busybox/blobs/sha256:${'0'.repeat(64)}`, 'docker.io'],
    ['a path out of the directory', '/v2/library/busybox/blobs/..%2F..%2Findex.json', 'docker.io'],
    ['an upload', '/v2/library/busybox/blobs/uploads/', 'docker.io'],
  ])('has no %s', async (_, path, ns) => {
    await linkImage(images, 'busybox', await layoutOf('one'));
    await expect(get(path, ns)).resolves.toMatchObject({ status: 404 });
  });

  test('has no blob of another repository, though its name begins the same', async () => {
    await linkImage(images, 'busybox', await layoutOf('one'));
    const { digest } = await json('/v2/library/busybox/manifests/latest');
    await expect(get(`/v2/library/busybox/blobs/${digest}`)).resolves.toMatchObject({ status: 200 });
    await expect(get(`/v2/library/busy/blobs/${digest}`)).resolves.toMatchObject({ status: 404 });
  });

  test('says that it speaks the protocol', async () => {
    await expect(get('/v2/')).resolves.toMatchObject({ status: 200 });
  });
});

describe('an image that is made here', () => {
  test('is the same, byte for byte, when it is made again of the same files', async () => {
    const digest = async (layout: string) => JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
    const rootfs = join(directory, 'rootfs');
    await mkdir(rootfs);
    writeFileSync(join(rootfs, 'file'), 'content');
    const layouts = [join(directory, 'a'), join(directory, 'b')];
    for (const [index, layout] of layouts.entries()) {
      // As two checkouts, or two runs of an installer, would have it.
      utimesSync(join(rootfs, 'file'), index, index);
      await writeOciLayout(layout, rootfs, {});
    }
    const [a, b] = await Promise.all(layouts.map(digest));
    expect(a).toEqual(b);
  });
});
