import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAuthority, issueCertificate } from '../../../src/certificates/x509/authority.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';

const NAMESPACE = 'default';

let controlPlane: ControlPlane;
let directory: string;
/** Of the certificate `good`, PEM. */
let authority: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fatal-errors-'));
  controlPlane = await startControlPlane();
  authority = await writePair('good');
  await writePair('other');
  await writeFile(join(directory, 'garbage.pem'), 'no PEM');
});
afterAll(async () => {
  await controlPlane?.stop();
  await rm(directory, { recursive: true, force: true });
});

async function writePair(name: string): Promise<string> {
  const validity = { notBefore: new Date(), notAfter: new Date(Date.now() + 86_400_000) };
  const issuer = await createAuthority({ commonName: name, ...validity });
  const issued = { commonName: name, dnsNames: ['localhost'], ipAddresses: [], usage: 'server' as const };
  const { certPem, keyPem } = await issueCertificate(issuer, { ...issued, ...validity });
  await writeFile(join(directory, `${name}.crt`), certPem);
  await writeFile(join(directory, `${name}.key`), keyPem);
  return issuer.certPem;
}

interface Ended {
  readonly code: number | null;
  readonly lines: readonly {
    readonly level: string;
    readonly msg: string;
    readonly err?: { readonly message: string };
  }[];
}

/** Starts `serve`. The flags come last, and so win. */
async function start(name: string, ...flags: readonly string[]) {
  const [port, metricsPort] = await freePorts(2);
  const lines: string[] = [];
  const started = await controlPlane.supervisor.start({
    name,
    command: process.execPath,
    args: [
      join(projectDirectory(), 'dist/main.js'),
      'serve',
      `--kubeconfig=${controlPlane.kubeconfigPath}`,
      `--namespace=${NAMESPACE}`,
      `--port=${port}`,
      `--metrics-port=${metricsPort}`,
      '--webhook-url=https://localhost',
      ...flags,
    ],
    output: { onLine: (line) => lines.push(line) },
  });
  return { started, lines, readyz: `http://localhost:${metricsPort}/readyz` };
}

/** Runs `serve` until it ends by itself. */
async function served(name: string, ...flags: readonly string[]): Promise<Ended> {
  const { started, lines } = await start(name, ...flags);
  const { code } = await started.exited;
  return { code, lines: lines.map((line) => JSON.parse(line)) };
}

const files = (cert: string, key: string, ca?: string) => [
  `--tls-cert-file=${join(directory, cert)}`,
  `--tls-key-file=${join(directory, key)}`,
  ...(ca === undefined ? [] : [`--client-ca-file=${join(directory, ca)}`]),
];

test.each<[string, [string, string, string?], RegExp]>([
  ['a certificate that is missing', ['missing.crt', 'good.key'], /missing\.crt/],
  ['a certificate that is garbage', ['garbage.pem', 'good.key'], /garbage\.pem is not valid PEM/],
  ['a key of another certificate', ['good.crt', 'other.key'], /other\.key is not the key of/],
  ['authorities of clients that are garbage', ['good.crt', 'good.key', 'garbage.pem'], /CA certificates/],
])('serve waits, is not ready and says why, with %s', async (name, names, message) => {
  const { started, lines, readyz } = await start(name.replaceAll(' ', '-'), ...files(...names));
  await eventually(`/readyz says ${message}`, async () => message.test(await text(readyz)));
  await eventually('the log says it', async () =>
    lines.some((line) => line.includes('"error"') && message.test(line)),
  );
  started.kill();
  expect((await started.exited).code).toBe(0);
});

test('serve waits until its files are there: an Issuer may write the authority later', async () => {
  const ca = join(directory, 'ca.crt');
  const { started, readyz } = await start('ca', ...files('good.crt', 'good.key'), `--tls-ca-file=${ca}`);
  await eventually('/readyz names the file', async () => (await text(readyz)).includes(ca));
  await writeFile(ca, authority);
  await eventually('/readyz does not', async () => {
    const said = await text(readyz);
    return said !== '' && !said.includes(ca);
  });
  started.kill();
  expect((await started.exited).code).toBe(0);
});

const text = (url: string) =>
  fetch(url).then(
    (response) => response.text(),
    () => '',
  );

test.each(['--port', '--metrics-port'])(
  'a fatal error ends the process with exit code 1, and one line names a %s that is taken',
  async (flag) => {
    const taken = createServer().listen(0);
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const { code, lines } = await served(`taken${flag}`, ...files('good.crt', 'good.key'), `${flag}=${port}`);
    taken.close();
    expect(code).toBe(1);
    expect(lines.at(-1)).toMatchObject({
      level: 'fatal',
      err: { message: expect.stringContaining(`EADDRINUSE`) },
    });
  },
);
