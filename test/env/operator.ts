import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { loadAll } from 'js-yaml';
import { createAuthority, issueCertificate } from '../../src/certificates/x509/authority.ts';
import type { ControlPlane } from './control-plane/control-plane.ts';
import { freePorts } from './control-plane/free-ports.ts';
import { renderKubeconfig } from './control-plane/kubeconfig.ts';
import { projectDirectory } from './control-plane/project-directory.ts';
import type { SupervisedProcess } from './control-plane/supervised-process.ts';
import { eventually } from './eventually.ts';

export const OPERATOR_NAMESPACE = 'envoy-initializer';
const SERVICE_ACCOUNT = 'envoy-initializer';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** In a container with the memory limit of deploy/base, Node limits its heap to this by itself. */
export const NODE_FLAGS = ['--max-old-space-size=256', '--max-semi-space-size=4'];

export interface OperatorOptions {
  /** Of its process and of its files: `operator` unless there are several. */
  readonly name?: string;
  /** Flags beside those that say where things are. */
  readonly args?: readonly string[];
  /** Of Node. */
  readonly nodeFlags?: readonly string[];
  /** From the project's root; what was built, unless something else is given. */
  readonly program?: string;
  /** The port of the webhook; by default a free one. */
  readonly port?: number;
  /** File that its log goes to. */
  readonly log: string;
  /** The operator keeps its own certificates, in place of files that are written here. */
  readonly ownCertificates?: boolean;
  /** Where it is installed, as `deploy/namespace` says: by default where the manifests say. */
  readonly namespace?: string;
  /** The manifests are there already and are left as they are: the webhooks call a Service, behind which is nobody. */
  readonly isInstalled?: boolean;
  /** The folder of the manifests, by default that of this version. */
  readonly deploy?: string;
}

/** The operator as a process of its own beside an embedded control plane, with the rights of its own service account. */
export interface Operator {
  readonly webhookUrl: string;
  readonly metricsUrl: string;
  /** The authority by which the webhook's certificate is trusted, PEM; empty where the operator keeps its own. */
  readonly caPem: string;
  readonly process: SupervisedProcess;
  /** Starts it again after it has ended; resolves when it is ready. */
  restart(): Promise<void>;
}

/**
 * Applies crd/ and deploy/overlays/dev, rendered with a free port's url and the caBundle of a certificate issued here,
 * and starts `serve` as it is started in a cluster. Resolves when it is ready.
 */
export async function startOperator(controlPlane: ControlPlane, options: OperatorOptions): Promise<Operator> {
  const { name = 'operator', namespace = OPERATOR_NAMESPACE } = options;
  const directory = join(controlPlane.directory, name);
  await mkdir(directory, { recursive: true });
  const [freePort = 0, metricsPort = 0] = await freePorts(2);
  const port = options.port ?? freePort;
  const webhookUrl = `https://127.0.0.1:${port}`;
  const metricsUrl = `http://127.0.0.1:${metricsPort}`;
  const files = options.ownCertificates ? undefined : await issueServingCertificate(directory);
  if (!options.isInstalled) {
    const deploy = options.deploy ?? join(projectDirectory(), 'deploy');
    const overlay = await overlayIn(directory, namespace, deploy);
    await applyOverlay(controlPlane, overlay, webhookUrl, files?.caPem);
  }
  const kubeconfig = await serviceAccountKubeconfig(controlPlane, directory, namespace);

  const start = async (): Promise<SupervisedProcess> => {
    const started = await controlPlane.supervisor.start({
      name,
      command: process.execPath,
      args: [
        ...NODE_FLAGS,
        ...(options.nodeFlags ?? []),
        join(projectDirectory(), options.program ?? 'dist/main.js'),
        'serve',
        `--kubeconfig=${kubeconfig}`,
        `--namespace=${namespace}`,
        `--port=${port}`,
        `--metrics-port=${metricsPort}`,
        ...(files ? files.args : [`--webhook-url=${webhookUrl}`]),
        // Nobody is in front of this process who would have to learn that it ends.
        '--shutdown-delay=0s',
        ...(options.args ?? []),
      ],
      output: { file: options.log },
    });
    await untilReady(metricsUrl, started, options.log);
    return started;
  };

  let running = await start();
  return {
    webhookUrl,
    metricsUrl,
    caPem: files?.caPem ?? '',
    get process() {
      return running;
    },
    async restart() {
      await running.exited;
      // What was killed would hold it for 15 s more.
      const lease = ['delete', 'lease', 'envoy-initializer', '--namespace', namespace, '--ignore-not-found'];
      await must(controlPlane, lease);
      running = await start();
    },
  };
}

/** Writes a certificate and its key; the flags that name them, and the authority that issued it. */
async function issueServingCertificate(
  directory: string,
): Promise<{ caPem: string; args: readonly string[] }> {
  const now = Date.now();
  const validity = { notBefore: new Date(now - MINUTE_MS), notAfter: new Date(now + 30 * DAY_MS) };
  const authority = await createAuthority({ commonName: 'envoy-initializer', ...validity });
  const { certPem, keyPem } = await issueCertificate(authority, {
    commonName: 'envoy-initializer',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    ...validity,
  });
  const [certFile, keyFile] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  await writeFile(certFile, certPem);
  await writeFile(keyFile, keyPem, { mode: 0o600 });
  return { caPem: authority.certPem, args: [`--tls-cert-file=${certFile}`, `--tls-key-file=${keyFile}`] };
}

/** The overlay, or a kustomization in the directory that puts it into another namespace, as docs/install.md has it. */
async function overlayIn(directory: string, namespace: string, deploy: string): Promise<string> {
  const overlay = join(deploy, 'overlays/dev');
  if (namespace === OPERATOR_NAMESPACE) return overlay;
  const inner = join(directory, 'in-namespace');
  await mkdir(inner, { recursive: true });
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace,
    resources: [relative(inner, overlay)],
    transformers: [relative(inner, join(deploy, 'namespace'))],
  };
  await writeFile(join(inner, 'kustomization.yaml'), JSON.stringify(kustomization));
  return inner;
}

interface Manifest {
  readonly webhooks?: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[];
}

/** Applies what the overlay renders, with webhooks that call the process of this address. */
export async function applyOverlay(
  controlPlane: Pick<ControlPlane, 'kubectl'>,
  overlay: string,
  address: string,
  caPem?: string,
): Promise<void> {
  const caBundle = caPem === undefined ? {} : { caBundle: Buffer.from(caPem).toString('base64') };
  const { stdout } = await must(controlPlane, ['kustomize', overlay]);
  const objects = (loadAll(stdout) as readonly Manifest[]).map(({ webhooks, ...object }) => ({
    ...object,
    ...(webhooks && {
      webhooks: webhooks.map(({ clientConfig, ...webhook }) => ({
        ...webhook,
        clientConfig: { url: `${address}${clientConfig.service.path}`, ...caBundle },
      })),
    }),
  }));
  await must(controlPlane, ['apply', '-f', '-'], listed(objects));
}

/** A kubeconfig with a token of the operator’s service account. */
export async function serviceAccountKubeconfig(
  controlPlane: ControlPlane,
  directory: string,
  namespace = OPERATOR_NAMESPACE,
): Promise<string> {
  const { stdout: token } = await must(controlPlane, [
    ...['create', 'token', SERVICE_ACCOUNT, '--namespace', namespace, '--duration', '24h'],
  ]);
  const { server, caPem } = controlPlane;
  const path = join(directory, 'kubeconfig');
  const kubeconfig = { name: SERVICE_ACCOUNT, server, caPem, user: { token: token.trim() } };
  await writeFile(path, renderKubeconfig(kubeconfig), { mode: 0o600 });
  return path;
}

async function untilReady(metricsUrl: string, started: SupervisedProcess, log: string): Promise<void> {
  const ended = started.exited.then(async ({ code, signal }) => {
    const tail = (await readFile(log, 'utf8')).trimEnd().split('\n').slice(-10).join('\n');
    throw new Error(`the operator ended before it was ready (${signal ?? `exit code ${code}`}):\n${tail}`);
  });
  await Promise.race([
    eventually(`${metricsUrl}/readyz says ok`, async () => (await fetch(`${metricsUrl}/readyz`)).ok),
    ended,
  ]);
}

/** The input of kubectl for several objects: before 1.33, it does not read several JSON documents. */
export function listed(objects: readonly unknown[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
}

/** kubectl, rejecting with what it printed when it failed. */
export async function must(
  controlPlane: Pick<ControlPlane, 'kubectl'>,
  args: readonly string[],
  input?: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const result = await controlPlane.kubectl(args, input === undefined ? {} : { input });
  if (result.code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${result.stderr.trim()}`);
  return result;
}
