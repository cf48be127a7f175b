import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { isRecord } from '../../../util/json.ts';

/** How a credential plugin is run (client-go's clientcmd/api/v1 ExecConfig). */
export interface Plugin {
  readonly apiVersion: string;
  /** A name to look up in PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string | undefined;
  readonly interactiveMode: string;
  /** The cluster, for a plugin that asks for it. */
  readonly cluster?: Readonly<Record<string, unknown>> | undefined;
}

/** The credential that a plugin returned. */
export interface PluginCredential {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** In milliseconds since 1970; infinite if the plugin names no time. */
  readonly expiresAt: number;
}

/** The extension of a cluster that only its plugin understands. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Runs the plugin once, as client-go does, and returns its credential (protocol client.authentication.k8s.io). Not
 * client-node's ExecAuth: that tells the plugin nothing, hides its questions from a user, and cannot end it.
 * @throws Error that names the plugin if it cannot be run, fails, or returns no credential.
 */
export async function runPlugin(plugin: Plugin, signal: AbortSignal): Promise<PluginCredential> {
  const { command, apiVersion, interactiveMode, cluster } = plugin;
  const fail = (problem: string, cause?: unknown) =>
    new Error(`the credential plugin ${command} ${problem}`, { cause });
  const hasTerminal = process.stdin.isTTY === true;
  if (interactiveMode === 'Always' && !hasTerminal)
    throw fail('needs a terminal (interactiveMode Always): run it in one, or use another plugin');
  const interactive = hasTerminal && interactiveMode !== 'Never';
  const spec = { interactive, ...(cluster && { cluster: await clusterInfo(cluster) }) };
  const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
  const { code, printed, errors } = await run(plugin, info, interactive, signal).catch((cause) => {
    const hint = plugin.installHint === undefined ? '' : `: ${plugin.installHint.trim()}`;
    throw fail(
      cause.code === 'ENOENT' ? `is not installed${hint}` : `cannot be run: ${cause.message}`,
      cause,
    );
  });
  if (code !== 0) {
    const lastLine = errors.trim().split('\n').at(-1);
    throw fail(`failed with exit code ${code}${lastLine ? `: ${lastLine}` : ''}`);
  }
  let answer: unknown;
  try {
    answer = JSON.parse(printed);
  } catch {
    // The output may hold a secret, so the error does not quote it.
  }
  if (!isRecord(answer)) throw fail('printed no JSON object: expected an ExecCredential');
  if (answer.apiVersion !== apiVersion)
    throw fail(`printed the apiVersion ${answer.apiVersion}: expected ${apiVersion}`);
  const status = isRecord(answer.status) ? answer.status : {};
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const hasPair = isText(cert) && isText(key);
  if (!hasPair && (isText(cert) || isText(key)))
    throw fail('returned only one of certificate and key: expected both');
  if (!hasPair && !isText(token)) throw fail('returned neither a token nor a client certificate');
  const expiresAt = isText(expirationTimestamp) ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresAt))
    throw fail(`returned the expirationTimestamp ${expirationTimestamp}: expected RFC 3339`);
  return { expiresAt, ...(isText(token) && { token }), ...(hasPair && { cert, key }) };
}

/** The output of the plugin. A user at a terminal sees its errors and can answer its questions. */
async function run({ command, args, env }: Plugin, info: string, interactive: boolean, signal: AbortSignal) {
  const plugin = spawn(command, args, {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
    signal,
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', interactive ? 'inherit' : 'pipe'],
  });
  // One that ignores the signal, or whose own children hold its output, must not keep this process alive.
  const leave = () => {
    plugin.unref();
    for (const stream of [plugin.stdout, plugin.stderr]) stream?.destroy();
  };
  signal.addEventListener('abort', leave);
  const ended = new Promise<number | null>((resolve, reject) => {
    plugin.once('error', reject).once('close', resolve);
  });
  const [printed, errors, code] = await Promise.all([
    plugin.stdout ? text(plugin.stdout) : '',
    plugin.stderr ? text(plugin.stderr) : '',
    ended,
  ]).finally(() => signal.removeEventListener('abort', leave));
  return { printed, errors, code };
}

/** The cluster as client-go describes it to a plugin (clientauthentication/v1, Cluster). */
async function clusterInfo(cluster: Readonly<Record<string, unknown>>): Promise<object> {
  const { 'certificate-authority': file, extensions, ...fields } = cluster;
  const all = Array.isArray(extensions) ? extensions.filter(isRecord) : [];
  return {
    ...fields,
    ...(isText(file) && { 'certificate-authority-data': await readFile(file, 'base64') }),
    config: all.find(({ name }) => name === EXEC_EXTENSION)?.extension ?? null,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
