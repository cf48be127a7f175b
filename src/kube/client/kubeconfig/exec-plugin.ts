import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { isRecord } from '../../../util/json.ts';
import type { ExecConfig, KubeCluster } from './kubeconfig-types.ts';

/** The credential that a plugin returned. */
export interface PluginCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** In milliseconds since 1970; infinite if the plugin names no time. */
  readonly expiresAt: number;
}

export interface ExecPluginOptions {
  readonly exec: ExecConfig;
  readonly cluster: KubeCluster;
  /** Ends a running plugin. */
  readonly signal: AbortSignal;
}

/**
 * Runs the plugin once, as client-go does, and returns its credential (protocol client.authentication.k8s.io).
 * @throws Error that names the plugin if it cannot be run, fails, or returns no credential.
 */
export async function runPlugin({ exec, cluster, signal }: ExecPluginOptions): Promise<PluginCredential> {
  const { command, args, env, apiVersion, interactiveMode } = exec;
  const hasTerminal = process.stdin.isTTY === true;
  if (interactiveMode === 'Always' && !hasTerminal) {
    throw new Error(
      `the credential plugin ${command} needs a terminal (interactiveMode Always): run it in one, or use another plugin`,
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

/** The output of the plugin. A user at a terminal sees its errors and can answer its questions. */
async function run(
  exec: ExecConfig,
  signal: AbortSignal,
  { args, env, interactive }: Invocation,
): Promise<string> {
  const stdin = interactive ? 'inherit' : 'ignore';
  const stderr = interactive ? 'inherit' : 'pipe';
  const plugin = spawn(exec.command, args, { env, signal, stdio: [stdin, 'pipe', stderr] });
  // One that ignores the signal, or whose own children hold its output, must not keep this process alive.
  const leave = () => {
    plugin.unref();
    for (const stream of [plugin.stdout, plugin.stderr]) stream?.destroy();
  };
  signal.addEventListener('abort', leave);
  const ended = new Promise<number | null>((resolve, reject) => {
    plugin.once('error', (cause) => reject(notRun(exec, cause))).once('close', resolve);
  });
  const [printed, errors, code] = await Promise.all([
    plugin.stdout ? text(plugin.stdout) : '',
    plugin.stderr ? text(plugin.stderr) : '',
    ended,
  ]).finally(() => signal.removeEventListener('abort', leave));
  if (code === 0) return printed;
  const lastLine = errors.trim().split('\n').at(-1);
  throw new Error(
    `the credential plugin ${exec.command} failed with exit code ${code}${lastLine ? `: ${lastLine}` : ''}`,
  );
}

function notRun({ command, installHint }: ExecConfig, cause: Error & { readonly code?: string }): Error {
  if (cause.code !== 'ENOENT') {
    return new Error(`the credential plugin ${command} cannot be run: ${cause.message}`, { cause });
  }
  const hint = installHint === undefined ? '' : `: ${installHint.trim()}`;
  return new Error(`the credential plugin ${command} is not installed${hint}`, { cause });
}

/** The cluster as client-go describes it to a plugin (clientauthentication/v1, Cluster). */
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
      `the credential plugin ${command} printed the apiVersion ${answer.apiVersion}: expected ${apiVersion}`,
    );
  }
  const status = isRecord(answer.status) ? answer.status : {};
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const hasPair = isText(cert) && isText(key);
  if (!hasPair && (isText(cert) || isText(key))) {
    throw new Error(
      `the credential plugin ${command} returned only one of certificate and key: expected both`,
    );
  }
  if (!hasPair && !isText(token)) {
    throw new Error(`the credential plugin ${command} returned neither a token nor a client certificate`);
  }
  const expiresAt = isText(expirationTimestamp) ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresAt)) {
    throw new Error(
      `the credential plugin ${command} returned the expirationTimestamp ${expirationTimestamp}: expected RFC 3339`,
    );
  }
  return { expiresAt, ...(isText(token) && { token }), ...(hasPair && { cert, key }) };
}

function parsed(command: string, output: string): Readonly<Record<string, unknown>> {
  try {
    const answer: unknown = JSON.parse(output);
    if (isRecord(answer)) return answer;
  } catch {
    // The output may hold a secret, so the error does not quote it.
  }
  throw new Error(`the credential plugin ${command} printed no JSON object: expected an ExecCredential`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
