import { resolve } from 'node:path';
import { Fields } from './kubeconfig-fields.ts';
import type { KubeconfigEntry } from './kubeconfig-files.ts';
import type { ExecConfig, KubeUser } from './kubeconfig-types.ts';

/** Providers that Kubernetes has removed from its clients, and the plugin that replaces each. */
const REMOVED_PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['gcp', 'gke-gcloud-auth-plugin'],
  ['azure', 'kubelogin'],
]);
/** client-go's clientauthentication v1 and v1beta1. */
const EXEC_VERSIONS: ReadonlySet<string> = new Set([
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
]);

/**
 * The user of a kubeconfig, with every field that client-go v1 has.
 * @throws Error for an invalid field, an unknown field, and fields that exclude each other.
 */
export function readUser(name: string, { where, value, directory }: KubeconfigEntry): KubeUser {
  const fields = new Fields(where, value);
  const path = (field: string) => {
    const file = fields.text(field);
    return file === undefined ? undefined : resolve(directory, file);
  };
  const user: KubeUser = {
    name,
    certFile: path('client-certificate'),
    certData: fields.text('client-certificate-data'),
    keyFile: path('client-key'),
    keyData: fields.text('client-key-data'),
    token: fields.text('token'),
    tokenFile: path('tokenFile'),
    impersonateUser: fields.text('as'),
    impersonateUid: fields.text('as-uid'),
    impersonateGroups: fields.texts('as-groups'),
    impersonateExtra: fields.textsByName('as-user-extra'),
    username: fields.text('username'),
    password: fields.text('password'),
    authProvider: authProvider(where, fields.object('auth-provider')),
    exec: exec(where, directory, fields.object('exec')),
  };
  // Extensions belong to other programs.
  fields.list('extensions');
  fields.end();
  const [conflict] = conflictsOf(user);
  if (conflict) throw new Error(`${where}: ${conflict}`);
  return user;
}

/** client-go's rules (clientcmd/validation.go, validateAuthInfo). */
function* conflictsOf(user: KubeUser): Generator<string> {
  const { certFile, certData, keyFile, keyData, token, tokenFile, username, password, exec, authProvider } =
    user;
  const hasCert = (certFile ?? certData) !== undefined;
  const hasKey = (keyFile ?? keyData) !== undefined;
  if (certFile && certData)
    yield 'client-certificate and client-certificate-data cannot be used together: remove one';
  if (keyFile && keyData) yield 'client-key and client-key-data cannot be used together: remove one';
  if (hasCert !== hasKey)
    yield `a client ${hasCert ? 'certificate without its key' : 'key without its certificate'}`;
  // A header cannot carry anything else, and each request would fail.
  if (token !== undefined && !/^[\x21-\x7e]*$/.test(token)) yield 'token: expected one line without spaces';
  if ((token ?? tokenFile) && (username ?? password))
    yield 'a token and a username cannot be used together: remove one';
  if (exec && authProvider) yield 'exec and auth-provider cannot be used together: remove one';
  const { impersonateUser, impersonateUid, impersonateGroups, impersonateExtra } = user;
  if (!impersonateUser && (impersonateUid ?? impersonateGroups ?? impersonateExtra)) {
    yield 'as-uid, as-groups and as-user-extra need a user to impersonate: set as';
  }
}

function authProvider(where: string, fields: Fields | undefined): KubeUser['authProvider'] {
  if (!fields) return undefined;
  const name = fields.text('name') ?? '';
  const plugin = REMOVED_PROVIDERS.get(name);
  if (plugin)
    throw new Error(`${where}.auth-provider: Kubernetes has removed ${name}: use exec with ${plugin}`);
  if (name !== 'oidc') {
    throw new Error(
      `${where}.auth-provider: expected oidc, got ${JSON.stringify(name)}: use exec with a plugin`,
    );
  }
  const config = fields.textByName('config');
  fields.end();
  return { name, config };
}

function exec(where: string, directory: string, fields: Fields | undefined): ExecConfig | undefined {
  if (!fields) return undefined;
  const apiVersion = fields.text('apiVersion') ?? '';
  if (!EXEC_VERSIONS.has(apiVersion)) {
    const expected = [...EXEC_VERSIONS].join(' or ');
    throw new Error(`${where}.exec.apiVersion: expected ${expected}, got ${JSON.stringify(apiVersion)}`);
  }
  const command = fields.text('command');
  if (!command) throw new Error(`${where}.exec.command: expected a command, got none`);
  const config: ExecConfig = {
    apiVersion,
    // A bare name is looked up in PATH.
    command: command.includes('/') ? resolve(directory, command) : command,
    args: fields.texts('args') ?? [],
    env: Object.fromEntries(fields.list('env').map((entry) => environmentVariable(where, entry))),
    installHint: fields.text('installHint'),
    provideClusterInfo: fields.flag('provideClusterInfo'),
    interactiveMode: interactiveMode(where, apiVersion, fields.text('interactiveMode')),
  };
  fields.end();
  return config;
}

function environmentVariable(where: string, entry: Fields): [string, string] {
  const name = entry.text('name');
  if (!name) throw new Error(`${where}.exec.env: expected a name for each variable, got none`);
  const variable: [string, string] = [name, entry.text('value') ?? ''];
  entry.end();
  return variable;
}

/** v1beta1 of the plugins' protocol does not have this field. */
function interactiveMode(
  where: string,
  apiVersion: string,
  mode: string | undefined,
): ExecConfig['interactiveMode'] {
  if (mode === undefined && apiVersion.endsWith('/v1beta1')) return 'IfAvailable';
  if (mode === 'Never' || mode === 'IfAvailable' || mode === 'Always') return mode;
  const got = mode === undefined ? 'none' : JSON.stringify(mode);
  throw new Error(`${where}.exec.interactiveMode: expected Never, IfAvailable or Always, got ${got}`);
}
