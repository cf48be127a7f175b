import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { User } from '@kubernetes/client-node';
import { isRecord } from '../../../util/json.ts';
import { suggest } from '../../../util/suggest.ts';
import { fileProblem } from '../../util/file-problem.ts';
import type { Plugin } from './exec-plugin.ts';
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

/** A user of client-node, and what client-node does not read from a kubeconfig. */
export interface KubeUser extends User {
  /** Takes precedence over `token`. */
  readonly tokenFile?: string;
  readonly plugin?: Plugin;
  /** The configuration of OpenID Connect. */
  readonly oidc?: Readonly<Record<string, unknown>>;
  readonly impersonateUid?: string;
  readonly impersonateGroups?: readonly string[];
  readonly impersonateExtra?: Readonly<Record<string, readonly string[]>>;
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
const KINDS = {
  'a string': (value: unknown) => typeof value === 'string',
  'true or false': (value: unknown) => typeof value === 'boolean',
  'a list of strings': isTexts,
  'lists of strings': (value: unknown) => isRecord(value) && Object.values(value).every(isTexts),
  'a list of objects': (value: unknown) => Array.isArray(value) && value.every(isRecord),
  'an object': isRecord,
};

type Kind = keyof typeof KINDS;
interface Values {
  'a string': string;
  'true or false': boolean;
  'a list of strings': readonly string[];
  'lists of strings': Readonly<Record<string, readonly string[]>>;
  'a list of objects': readonly Readonly<Record<string, unknown>>[];
  'an object': Readonly<Record<string, unknown>>;
}
type Fields<T extends Readonly<Record<string, Kind>>> = { readonly [K in keyof T]?: Values[T[K]] };

/** Every field that client-go has (tools/clientcmd/api/v1/types.go). */
const CLUSTER = {
  server: 'a string',
  'tls-server-name': 'a string',
  'insecure-skip-tls-verify': 'true or false',
  'certificate-authority': 'a string',
  'certificate-authority-data': 'a string',
  'proxy-url': 'a string',
  // Requests are never compressed.
  'disable-compression': 'true or false',
  extensions: 'a list of objects',
} as const;
const USER = {
  'client-certificate': 'a string',
  'client-certificate-data': 'a string',
  'client-key': 'a string',
  'client-key-data': 'a string',
  token: 'a string',
  tokenFile: 'a string',
  as: 'a string',
  'as-uid': 'a string',
  'as-groups': 'a list of strings',
  'as-user-extra': 'lists of strings',
  username: 'a string',
  password: 'a string',
  'auth-provider': 'an object',
  exec: 'an object',
  extensions: 'a list of objects',
} as const;
const EXEC = {
  apiVersion: 'a string',
  command: 'a string',
  args: 'a list of strings',
  env: 'a list of objects',
  installHint: 'a string',
  provideClusterInfo: 'true or false',
  interactiveMode: 'a string',
} as const;

/** The fields that name a file. */
const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'] as const;
/** client-go's rules (clientcmd/validation.go): what excludes each other, and what needs another field. */
const EXCLUSIVE: readonly (readonly [string, string])[] = [
  ['certificate-authority', 'certificate-authority-data'],
  ['insecure-skip-tls-verify', 'certificate-authority'],
  ['insecure-skip-tls-verify', 'certificate-authority-data'],
  ['client-certificate', 'client-certificate-data'],
  ['client-key', 'client-key-data'],
  ['token', 'username'],
  ['tokenFile', 'username'],
  ['exec', 'auth-provider'],
];
const NEEDS: readonly (readonly [field: string, ...oneOf: string[]])[] = [
  ['client-certificate', 'client-key', 'client-key-data'],
  ['client-certificate-data', 'client-key', 'client-key-data'],
  ['client-key', 'client-certificate', 'client-certificate-data'],
  ['client-key-data', 'client-certificate', 'client-certificate-data'],
  ['as-uid', 'as'],
  ['as-groups', 'as'],
  ['as-user-extra', 'as'],
];
/** Providers that Kubernetes has removed from its clients, and the plugin that replaces each. */
const REMOVED_PROVIDERS: ReadonlyMap<unknown, string> = new Map([
  ['gcp', 'gke-gcloud-auth-plugin'],
  ['azure', 'kubelogin'],
]);
const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'];

export type ClusterFields = Fields<typeof CLUSTER>;

/** The checked fields of a cluster, with absolute paths. @throws Error that names a wrong field. */
export function readCluster({ name, where, file, value }: Entry): ClusterFields & { readonly name: string } {
  const cluster = fieldsOf(where, value, CLUSTER, file);
  const proxy = cluster['proxy-url'];
  if (proxy !== undefined) parseProxy(proxy, `${where}.proxy-url`);
  return { name, ...cluster };
}

/** The checked fields of a user: those that client-node reads, and the others. @throws Error that names a wrong field. */
export function readUser(
  { name, where, file, value }: Entry,
  cluster: ClusterFields,
  { as, asGroup }: KubeconfigOverrides,
) {
  const {
    'as-uid': impersonateUid,
    'as-groups': ownGroups,
    'as-user-extra': impersonateExtra,
    'auth-provider': provider,
    tokenFile,
    exec,
    ...user
  } = fieldsOf(where, value, USER, file);
  // A header cannot carry anything else, and each request would fail.
  if (!/^[\x21-\x7e]*$/.test(user.token ?? ''))
    throw new Error(`${where}: token: expected one line without spaces`);
  const impersonateUser = as ?? user.as;
  if (asGroup !== undefined && impersonateUser === undefined)
    throw new Error('--as-group needs a user to impersonate: add --as');
  const impersonateGroups = asGroup ?? ownGroups;
  const extra: Partial<KubeUser> = {
    ...(tokenFile !== undefined && { tokenFile }),
    ...(exec && { plugin: readPlugin(`${where}.exec`, exec, file, cluster) }),
    ...(provider && { oidc: readProvider(`${where}.auth-provider`, provider) }),
    ...(impersonateUid !== undefined && { impersonateUid }),
    ...(impersonateGroups && { impersonateGroups }),
    ...(impersonateExtra && { impersonateExtra }),
  };
  return { name, extra, ...user, as: impersonateUser };
}

function readProvider(where: string, { name, config }: Readonly<Record<string, unknown>>) {
  const plugin = REMOVED_PROVIDERS.get(name);
  if (plugin) throw new Error(`${where}: Kubernetes has removed ${name}: use exec with ${plugin}`);
  if (name !== 'oidc')
    throw new Error(`${where}: expected oidc, got ${JSON.stringify(name)}: use exec with a plugin`);
  return isRecord(config) ? config : {};
}

function readPlugin(where: string, value: unknown, file: string, cluster: ClusterFields): Plugin {
  const { apiVersion = '', command, interactiveMode, env = [], ...exec } = fieldsOf(where, value, EXEC, file);
  if (!EXEC_VERSIONS.includes(apiVersion)) {
    const expected = EXEC_VERSIONS.join(' or ');
    throw new Error(`${where}.apiVersion: expected ${expected}, got ${JSON.stringify(apiVersion)}`);
  }
  if (command === undefined) throw new Error(`${where}.command: expected a command, got none`);
  // v1beta1 of the protocol does not have this field.
  const mode = interactiveMode ?? (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : 'none');
  if (!INTERACTIVE_MODES.includes(mode))
    throw new Error(`${where}.interactiveMode: expected ${INTERACTIVE_MODES.join(', ')}, got ${mode}`);
  for (const { name } of env)
    if (!name) throw new Error(`${where}.env: expected a name for each variable, got none`);
  return {
    apiVersion,
    // A bare name is looked up in PATH.
    command: command.includes('/') ? resolve(dirname(file), command) : command,
    args: exec.args ?? [],
    env: Object.fromEntries(env.map(({ name, value: text }) => [name, String(text ?? '')])),
    installHint: exec.installHint,
    interactiveMode: mode,
    cluster: exec.provideClusterInfo ? cluster : undefined,
  };
}

/** The fields of an object, each of its kind. As in client-go, an empty text or list counts as absent. */
function fieldsOf<T extends Readonly<Record<string, Kind>>>(
  where: string,
  value: unknown,
  kinds: T,
  file: string,
): Fields<T> {
  if (!isRecord(value)) throw new Error(`${where}: expected an object`);
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const kind = kinds[name];
    if (!kind) throw new Error(`${where}: unknown field ${JSON.stringify(name)}: ${advice(name, kinds)}`);
    if (field === null || field === '' || (Array.isArray(field) && field.length === 0)) continue;
    // Not the value, which may be a secret.
    if (!KINDS[kind](field)) throw new Error(`${where}.${name}: expected ${kind}`);
    fields[name] = field;
  }
  for (const [one, other] of EXCLUSIVE)
    if (fields[one] && fields[other])
      throw new Error(`${where}: ${one} and ${other} cannot be used together: remove one`);
  for (const [field, ...oneOf] of NEEDS)
    if (fields[field] && !oneOf.some((each) => fields[each]))
      throw new Error(`${where}: ${field} needs ${oneOf.join(' or ')}: add it`);
  for (const name of FILES) {
    const path = fields[name];
    if (typeof path === 'string')
      fields[name] = readablePath(`${where}.${name}`, resolve(dirname(file), path));
  }
  // Each was checked by its kind.
  return fields as Fields<T>;
}

function advice(name: string, kinds: object): string {
  const known = Object.keys(kinds);
  const meant = suggest(name, known);
  return meant === undefined ? `expected one of ${known.join(', ')}` : `did you mean ${meant}?`;
}

function readablePath(where: string, path: string): string {
  try {
    accessSync(path, constants.R_OK);
    return path;
  } catch (cause) {
    throw new Error(`${where}: cannot read ${path}: ${fileProblem(cause)}`, { cause });
  }
}
