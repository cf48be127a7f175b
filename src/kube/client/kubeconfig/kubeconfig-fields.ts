import { dirname, resolve } from 'node:path';
import type { User } from '@kubernetes/client-node';
import { isRecord } from '../../../util/json.ts';
import { suggest } from '../../../util/suggest.ts';
import { parseProxy } from './proxy.ts';

/** What replaces parts of the kubeconfig, as kubectl's flags of these names do. */
export interface KubeconfigOverrides {
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  /** The user and the groups to impersonate. */
  readonly as?: string | undefined;
  readonly asGroup?: readonly string[] | undefined;
}

/** A named entry of a kubeconfig, not yet checked. */
export interface Entry {
  readonly name: string;
  /** The file and the name, for messages. */
  readonly where: string;
  /** Paths are relative to it. */
  readonly file: string;
  readonly value: unknown;
}

/** How a credential plugin is run (client-go's clientcmd/api/v1 ExecConfig). */
export interface Plugin {
  readonly apiVersion: string;
  /** A name to look up in PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The cluster, for a plugin that asks for it. */
  readonly cluster?: Readonly<Record<string, unknown>> | undefined;
}

/** A user of client-node, and what client-node does not read from a kubeconfig. */
export interface KubeUser extends User {
  /** Takes precedence over `token`. */
  readonly tokenFile?: string;
  readonly plugin?: Plugin;
  readonly impersonateUid?: string;
  readonly impersonateGroups?: readonly string[];
  readonly impersonateExtra?: Readonly<Record<string, readonly string[]>>;
}

type Fields = Readonly<Record<string, unknown>>;
type ClusterFields = Fields & {
  readonly server?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'proxy-url'?: string;
};

/** Every field that client-go has (tools/clientcmd/api/v1/types.go). Those that are in no other list are texts. */
const KNOWN = {
  cluster:
    'server tls-server-name insecure-skip-tls-verify certificate-authority certificate-authority-data proxy-url disable-compression extensions',
  user: 'client-certificate client-certificate-data client-key client-key-data token tokenFile as as-uid as-groups as-user-extra username password auth-provider exec extensions',
  exec: 'apiVersion command args env installHint provideClusterInfo interactiveMode',
};
const FLAGS = ['insecure-skip-tls-verify', 'disable-compression', 'provideClusterInfo'];
const OBJECTS = ['extensions', 'as-groups', 'as-user-extra', 'auth-provider', 'exec', 'args', 'env'];
const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];
/** What client-go refuses beside each other (clientcmd/validation.go), where it matters for security. */
const EXCLUSIVE: readonly (readonly [string, string])[] = [
  ['certificate-authority', 'certificate-authority-data'],
  ['insecure-skip-tls-verify', 'certificate-authority'],
  ['insecure-skip-tls-verify', 'certificate-authority-data'],
  ['token', 'username'],
  ['tokenFile', 'username'],
];
const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/** The checked fields of a cluster, with absolute paths. @throws Error that names a wrong field. */
export function readCluster(entry: Entry): ClusterFields {
  const cluster: ClusterFields = fieldsOf('cluster', entry);
  const proxy = cluster['proxy-url'];
  if (proxy !== undefined) parseProxy(proxy, `${entry.where}.proxy-url`);
  return cluster;
}

/** The checked fields of a user: those that client-node reads, and the others. @throws Error that names a wrong field. */
export function readUser(entry: Entry, cluster: Fields, { as, asGroup }: KubeconfigOverrides) {
  const { where } = entry;
  const user = fieldsOf('user', entry);
  // A header cannot carry anything else, and each request would fail.
  if (!/^[\x21-\x7e]*$/.test(String(user.token ?? '')))
    throw new Error(`${where}: token: expected one line without spaces`);
  const {
    'as-uid': uid,
    'as-groups': ownGroups,
    'as-user-extra': more,
    exec,
    'auth-provider': provider,
  } = user;
  const impersonateUser = as ?? user.as;
  const groups = asGroup ?? ownGroups;
  if (impersonateUser === undefined && (uid ?? groups ?? more) !== undefined)
    throw new Error(
      `${where}: groups, a uid and extra fields need a user to impersonate: set "as", or use --as`,
    );
  const extra: Partial<KubeUser> = {
    ...(user.tokenFile !== undefined && { tokenFile: String(user.tokenFile) }),
    ...(exec !== undefined && {
      plugin: readPlugin({ ...entry, where: `${where}.exec`, value: exec }, cluster),
    }),
    ...(uid !== undefined && { impersonateUid: String(uid) }),
    ...(groups !== undefined && { impersonateGroups: texts(`${where}.as-groups`, groups) }),
    ...(isRecord(more) && {
      impersonateExtra: Object.fromEntries(
        Object.entries(more).map(([key, values]) => [key, texts(`${where}.as-user-extra`, values)]),
      ),
    }),
  };
  const token = user.token ?? (provider && idTokenIn(`${where}.auth-provider`, provider));
  // client-node runs no plugin, and asks no provider.
  return {
    user: { ...user, token, as: impersonateUser, exec: undefined, 'auth-provider': undefined },
    extra,
  };
}

function texts(where: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new Error(`${where}: expected a list of strings`);
}

/**
 * The token of OpenID Connect. Neither this process nor client-node renews it: many issuers accept a refresh token
 * once, so the next one must be stored in the kubeconfig, as kubectl does.
 */
function idTokenIn(where: string, provider: unknown): unknown {
  const { name, config }: Fields = isRecord(provider) ? provider : {};
  if (name === 'oidc' && isRecord(config)) return config['id-token'];
  throw new Error(`${where}: expected oidc, got ${JSON.stringify(name)}: use exec with a plugin`);
}

function readPlugin(entry: Entry, cluster: Fields): Plugin {
  const { where, file } = entry;
  const { apiVersion, command, env, args = [], ...exec } = fieldsOf('exec', entry);
  if (!EXEC_VERSIONS.includes(String(apiVersion))) {
    const expected = EXEC_VERSIONS.join(' or ');
    throw new Error(`${where}.apiVersion: expected ${expected}, got ${JSON.stringify(apiVersion)}`);
  }
  if (typeof command !== 'string') throw new Error(`${where}.command: expected a command, got none`);
  if (exec.interactiveMode === 'Always')
    throw new Error(
      `${where}.interactiveMode: plugins have no terminal here: expected a value other than Always`,
    );
  const variables = Array.isArray(env) ? env.filter(isRecord) : [];
  return {
    apiVersion: String(apiVersion),
    // A bare name is looked up in PATH.
    command: command.includes('/') ? resolve(dirname(file), command) : command,
    args: texts(`${where}.args`, args),
    env: Object.fromEntries(variables.map(({ name, value }) => [String(name), String(value ?? '')])),
    cluster: exec.provideClusterInfo === true ? cluster : undefined,
  };
}

/** The fields of an object, each of its kind. As in client-go, an empty text or list counts as absent. */
function fieldsOf(kind: keyof typeof KNOWN, { where, value, file }: Entry): Fields {
  if (!isRecord(value)) throw new Error(`${where}: expected an object`);
  const known = KNOWN[kind].split(' ');
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (!known.includes(name)) {
      const meant = suggest(name, known);
      const advice = meant === undefined ? 'remove it' : `did you mean ${meant}?`;
      throw new Error(`${where}: unknown field ${JSON.stringify(name)}: ${advice}`);
    }
    if (field === null || field === '' || (Array.isArray(field) && field.length === 0)) continue;
    const type = FLAGS.includes(name) ? 'boolean' : OBJECTS.includes(name) ? 'object' : 'string';
    // Not the value, which may be a secret.
    if (typeof field !== type) throw new Error(`${where}.${name}: expected a value of type ${type}`);
    fields[name] = FILES.includes(name) ? resolve(dirname(file), String(field)) : field;
  }
  for (const [one, other] of EXCLUSIVE)
    if (fields[one] && fields[other])
      throw new Error(`${where}: ${one} and ${other} cannot be used together: remove one`);
  return fields;
}
