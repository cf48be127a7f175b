import type { Command } from 'commander';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { kubeconfigNames } from '../../kube/client/kubeconfig/load-config.ts';
import { isObject, own, ownString } from '../../util/json.ts';
import { type AddOn, toolsOf } from '../add-on.ts';
import { NETWORK_TARGET } from '../check/check-network.ts';
import { nameInTarget, parseTarget } from '../check/check-target.ts';
import { withCluster } from '../cluster.ts';

/** A user waits for it between two keys. */
const TIMEOUT_MS = 2_000;
/** More names help no user. */
const LIMIT = 500;
/** What flags choose from the kubeconfig. */
const ENTRIES = ['context', 'cluster', 'user'] as const;
/** Bash puts a candidate into the line without quotes: in another name it would read a command, a space or a line break. */
const PLAIN = /^[\w.:@/][\w.:@/+-]*$/;

/**
 * Names of the kubeconfig or of the cluster that may stand for the last of these words, as kubectl completes them:
 * contexts, namespaces, and targets such as `deploy/web`. Names that a shell would read are left out. None if they cannot
 * be read in time.
 */
export async function liveCandidates(
  program: Command,
  typed: readonly string[],
  addOns: readonly AddOn[],
): Promise<readonly string[]> {
  const words = typed.filter((word) => word !== '=');
  const word = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = program.commands.find((each) => before.includes(each.name()));
  if (command === undefined) return [];
  try {
    const names = await namesFor(command, before, word, addOns);
    return names.filter((name) => name.startsWith(word) && PLAIN.test(name));
  } catch {
    // Without a usable kubeconfig or an API server, there is nothing to offer.
    return [];
  }
}

async function namesFor(
  command: Command,
  before: readonly string[],
  word: string,
  addOns: readonly AddOn[],
): Promise<readonly string[]> {
  const flag = before.at(-1) ?? '';
  const connection = {
    kubeconfig: typedValue(before, '--kubeconfig'),
    context: typedValue(before, '--context'),
  };
  const entry = ENTRIES.find((each) => flag === `--${each}`);
  if (entry !== undefined) return kubeconfigNames(entry, connection.kubeconfig);
  if (['-n', '--namespace', '--operator-namespace'].includes(flag))
    return await listed(connection, NAMESPACES);
  const takesTarget = command.name() === 'check' || flag === '--restart';
  const [kind, name] = word.split('/');
  if (!takesTarget || kind === undefined || name === undefined) return [];
  const namespace = typedValue(before, '-n') ?? typedValue(before, '--namespace');
  const names = await listed(connection, await resourceOf(`${kind}/name`, addOns), namespace);
  return names.map((each) => `${kind}/${each}`);
}

async function resourceOf(target: string, addOns: readonly AddOn[]): Promise<Resource<KubeObject>> {
  const targets = [NETWORK_TARGET, ...(await toolsOf(addOns)).flatMap(({ check }) => check?.targets ?? [])];
  const other = targets.find((each) => nameInTarget(target, each) !== undefined);
  return other?.resource ?? parseTarget(target).resource;
}

async function listed(
  connection: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
  resource: Resource<KubeObject>,
  given?: string,
): Promise<readonly string[]> {
  const options = { ...connection, master: undefined };
  return await withCluster(options, async ({ client, namespace }) => {
    const scope = resource.namespaced ? { namespace: given ?? namespace } : {};
    const { items } = await client.list(resource, {
      ...scope,
      limit: LIMIT,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return items.flatMap((item) => (isObject(item) ? (ownString(own(item, 'metadata'), 'name') ?? []) : []));
  });
}

/** The value of a flag that is typed already. */
function typedValue(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(flag);
  const [, assigned] = words.find((word) => word.startsWith(`${flag}=`))?.split(/=(.*)/s) ?? [];
  return assigned ?? (at < 0 ? undefined : words[at + 1]);
}
