import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { ExecConfig, KubeCluster } from './kubeconfig-types.ts';

/** What a credential plugin gave. */
export interface PluginCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** In milliseconds since 1970; infinite where the plugin did not say. */
  readonly expiresAt: number;
}

export interface ExecPluginOptions {
  readonly exec: ExecConfig;
  readonly cluster: KubeCluster;
  /** Ends a plugin that runs. */
  readonly signal: AbortSignal;
}

/**
 * What the plugin gives, run once, as client-go runs it: by the protocol of client.authentication.k8s.io.
 * @throws Error that names the plugin, when it cannot be run, fails, or gives no credential.
 */
export async function runPlugin({ exec, cluster, signal }: ExecPluginOptions): Promise<PluginCredential> {
  const { command, args, env, apiVersion, interactiveMode } = exec;
  const hasTerminal = process.stdin.isTTY === true;
  if (interactiveMode === 'Always' && !hasTerminal) {
    throw new Error(
      `the credential plugin ${command} needs a terminal (interactiveMode Always), and there is none`,
    );
  }
  const interactive = hasTerminal && interactiveMode !== 'Never';
  const spec = { interactive, ...(exec.provideClusterInfo && { cluster: await clusterInfo(cluster) }) };
  const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
  const output = await run(exec, signal, {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
    args,
    interactive,
  });
  return credentialOf(exec, output);
}

interface Invocation {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly interactive: boolean;
}

/** What the plugin printed. A person at a terminal sees its errors and answers its questions. */
async function run(
  exec: ExecConfig,
  signal: AbortSignal,
  { args, env, interactive }: Invocation,
): Promise<string> {
  const stdin = interactive ? 'inherit' : 'ignore';
  const stderr = interactive ? 'inherit' : 'pipe';
  const plugin = spawn(exec.command, args, { env, signal, stdio: [stdin, 'pipe', stderr] });
  const ended = new Promise<number | null>((resolve, reject) => {
    plugin.once('error', (cause) => reject(notRun(exec, cause))).once('close', resolve);
  });
  const [printed, said, code] = await Promise.all([
    plugin.stdout ? text(plugin.stdout) : '',
    plugin.stderr ? text(plugin.stderr) : '',
    ended,
  ]);
  if (code === 0) return printed;
  const lastLine = said.trim().split('\n').at(-1) ?? '';
  throw new Error(`the credential plugin ${exec.command} failed with exit code ${code}: ${lastLine}`);
}

function notRun({ command, installHint }: ExecConfig, cause: Error & { readonly code?: string }): Error {
  if (cause.code !== 'ENOENT') {
    return new Error(`the credential plugin ${command} cannot be run: ${cause.message}`, { cause });
  }
  const hint = installHint === undefined ? '' : `: ${installHint.trim()}`;
  return new Error(`the credential plugin ${command} is not installed${hint}`, { cause });
}

/** The cluster as client-go tells of it (clientauthentication/v1, Cluster). */
async function clusterInfo(cluster: KubeCluster): Promise<object> {
  const { server, tlsServerName, skipTLSVerify, caFile, caData, proxyUrl, execExtension } = cluster;
  const ca = caData ?? (caFile && (await readFile(caFile)).toString('base64'));
  return {
    server,
    ...(tlsServerName && { 'tls-server-name': tlsServerName }),
    ...(skipTLSVerify && { 'insecure-skip-tls-verify': true }),
    ...(ca && { 'certificate-authority-data': ca }),
    ...(proxyUrl && { 'proxy-url': proxyUrl }),
    ...(cluster.disableCompression && { 'disable-compression': true }),
    config: execExtension ?? null,
  };
}

function credentialOf({ command, apiVersion }: ExecConfig, output: string): PluginCredential {
  const answer = parsed(command, output);
  if (answer.apiVersion !== apiVersion) {
    throw new Error(
      `the credential plugin ${command} answered in ${answer.apiVersion}: expected ${apiVersion}`,
    );
  }
  const status = isRecord(answer.status) ? answer.status : {};
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const hasPair = isText(cert) && isText(key);
  if (!hasPair && (isText(cert) || isText(key))) {
    throw new Error(`the credential plugin ${command} gave a certificate or a key: expected both`);
  }
  if (!hasPair && !isText(token)) {
    throw new Error(`the credential plugin ${command} gave neither a token nor a client certificate`);
  }
  const expiresAt = isText(expirationTimestamp) ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresAt)) {
    throw new Error(
      `the credential plugin ${command} gave the expirationTimestamp ${expirationTimestamp}: expected RFC 3339`,
    );
  }
  return { expiresAt, ...(isText(token) && { token }), ...(hasPair && { cert, key }) };
}

function parsed(command: string, output: string): Readonly<Record<string, unknown>> {
  try {
    const answer: unknown = JSON.parse(output);
    if (isRecord(answer)) return answer;
  } catch {
    // Its output may hold a secret, so that it is not quoted.
  }
  throw new Error(`the credential plugin ${command} printed no JSON object: expected an ExecCredential`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
