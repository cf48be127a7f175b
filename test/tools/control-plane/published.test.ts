import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cacheRoot, hostTarget } from '../../env/control-plane/cache-directory.ts';
import { quickBinaries } from '../../env/control-plane/published.ts';
import { ensureGoProgram } from '../../env/go/go-program.ts';
import { pinOf } from '../../env/go/pins.ts';

const NAMES = ['etcd', 'kube-apiserver', 'kubectl'];
let directory: string;
let server: Server;
let address: string;
/** What the stand-in serves. */
let archive: Buffer;
let list: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'envtest-'));
  const inside = join(directory, 'controller-tools/envtest');
  mkdirSync(inside, { recursive: true });
  for (const name of NAMES) writeFileSync(join(inside, name), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 });
  const file = join(directory, 'archive.tar.gz');
  execFileSync('tar', ['-czf', file, '-C', directory, 'controller-tools']);
  archive = readFileSync(file);
  server = createServer(({ url }, response) => {
    response.end(url === '/index.yaml' ? list : archive);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // Built once for all, in the cache of this machine.
  const pin = pinOf('sigs.k8s.io/controller-runtime/tools/setup-envtest');
  await ensureGoProgram({ name: 'setup-envtest', package: pin.module, pin }, process.env, process.stderr);
}, 600_000);

afterAll(() => {
  server?.close();
  rmSync(directory, { recursive: true });
});

/** A list of one release, whose archive has this hash. */
function listOf(version: string, hash: string): string {
  const { goos, goarch } = hostTarget();
  const name = `envtest-${version}-${goos}-${goarch}.tar.gz`;
  return JSON.stringify({ releases: { [version]: { [name]: { hash, selfLink: `${address}/${name}` } } } });
}

/** A demo on a new machine: what it says, and which binaries it gets; `built` where it builds them. */
async function demo(index = `${address}/index.yaml`) {
  const cache = mkdtempSync(join(directory, 'cache-'));
  const env = { ...process.env, XDG_CACHE_HOME: cache, ENVTEST_INDEX: index, KUBEBUILDER_ASSETS: '' };
  execFileSync('mkdir', ['-p', cacheRoot(env)]);
  execFileSync('ln', ['-s', join(cacheRoot(process.env), 'setup-envtest'), cacheRoot(env)]);
  let said = '';
  const built = { etcd: 'built', 'kube-apiserver': 'built', kubectl: 'built' };
  const progress = { write: (text: string) => (said += text) };
  const binaries = await quickBinaries(env, progress, () => Promise.resolve(built));
  return { said, binaries };
}

const sha512 = () => createHash('sha512').update(archive).digest('hex');

test('published binaries of the minor version are downloaded, and run', async () => {
  list = listOf('v1.36.9', sha512());
  const { said, binaries } = await demo();
  expect(said).toMatch(/no Kubernetes 1\.36 .*\nenvtest publishes binaries: .* about a minute, once\./);
  expect(NAMES.map((name) => execFileSync(Object(binaries)[name]).toString())).toEqual(
    NAMES.map((name) => `${name}\n`),
  );
  expect(binaries).not.toHaveProperty('kube-controller-manager');
});

test.each([
  [
    'an archive with another hash',
    () => listOf('v1.36.9', '0'.repeat(128)),
    undefined,
    /setup-envtest ended with 2/,
  ],
  ['another minor version', () => listOf('v1.35.0', sha512()), undefined, /setup-envtest ended with 2/],
  ['no list', () => '', 'http://127.0.0.1:1/index.yaml', /cannot reach http:\/\/127\.0\.0\.1:1\/index\.yaml/],
])('with %s, they are built, and the reason is said', async (_, content, index, reason) => {
  list = content();
  const { said, binaries } = await demo(index);
  expect(said).toMatch(reason);
  expect(said).toMatch(/Building etcd, .*kubectl takes about five minutes, once\.\n$/);
  expect(binaries).toMatchObject({ etcd: 'built' });
});
