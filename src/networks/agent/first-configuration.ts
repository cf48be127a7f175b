import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownList, ownString, tryJson } from '../../util/json.ts';

/** The files that container runtimes read. They use the first one by name. */
const CONFIGURATION = /\.(conf|conflist|json)$/;
/** What packages of runtimes bring. Where it comes first, it says nothing of the cluster's network. */
const PACKAGED = /^(87-podman|100-crio-bridge|200-loopback|nerdctl-)/;
/** The types of Multus' plugins: multus, multus-shim. */
const MULTUS = /^multus/;

/**
 * Why pods start on the node without their Networks: its first CNI configuration is not that of Multus. Undefined if it
 * is, and null if that is not known.
 * @param directory of the node's configurations
 */
export async function withoutMultus(directory: string): Promise<string | undefined | null> {
  const names = await readdir(directory).catch(() => []);
  const [first] = names.filter((name) => CONFIGURATION.test(name)).toSorted();
  if (first === undefined || PACKAGED.test(first)) return null;
  const types = await typesIn(join(directory, first));
  if (types.length === 0 || types.some((type) => MULTUS.test(type))) return undefined;
  return `its first CNI configuration is ${first} (${types.join(', ')}), not that of Multus, so pods start without their interface`;
}

async function typesIn(path: string): Promise<readonly string[]> {
  const configuration = tryJson(await readFile(path, 'utf8').catch(() => ''));
  return [configuration, ...ownList(configuration, 'plugins')].flatMap(
    (each) => ownString(each, 'type') ?? [],
  );
}
