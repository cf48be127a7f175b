import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isArray, type JsonValue, own } from '../../../util/json.ts';

/** The files that container runtimes read. They use the first one by name. */
const CONFIGURATION = /\.(conf|conflist|json)$/;
/** The types of Multus' plugins: multus, multus-shim. A runtime that finds only loopback first uses another directory. */
const MULTUS = /^(multus|loopback$)/;

/**
 * Why pods start on the node without their Networks: its first CNI configuration is not of Multus. Undefined if it is, or
 * if that is not known: the directory is another one, or its first file cannot be read.
 */
export async function withoutMultus(directory: string): Promise<string | undefined> {
  const names = await readdir(directory).catch(() => []);
  const [first] = names.filter((name) => CONFIGURATION.test(name)).toSorted();
  const types = first === undefined ? [] : await typesIn(join(directory, first));
  if (types.length === 0 || types.some((type) => MULTUS.test(type))) return undefined;
  return `its first CNI configuration is ${first} (${types.join(', ')}), not that of Multus, so pods start without their interface`;
}

async function typesIn(path: string): Promise<readonly string[]> {
  try {
    const configuration: JsonValue = JSON.parse(await readFile(path, 'utf8'));
    const plugins = own(configuration, 'plugins');
    const types = [configuration, ...(isArray(plugins) ? plugins : [])].map((each) => own(each, 'type'));
    return types.filter((type) => typeof type === 'string');
  } catch {
    return [];
  }
}
