import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { isArray, type JsonValue, own } from '../../../util/json.ts';

/** The files that container runtimes read. They use the first one by name. */
const CONFIGURATION = /\.(conf|conflist|json)$/;
/** What packages of runtimes bring. Where it comes first, it says nothing of the cluster's network. */
const PACKAGED = /^(87-podman|100-crio-bridge|200-loopback|nerdctl-)/;
/** The types of Multus' plugins: multus, multus-shim. */
const MULTUS = /^multus/;

export interface FirstConfigurationOptions {
  /** Where the node's directory is mounted. */
  readonly directory: string;
  /** Its path on the node. */
  readonly path: string;
  readonly log: Pick<Logger, 'info'>;
}

/** The CNI configuration by which a node's pods start. */
export class FirstConfiguration {
  readonly #options: FirstConfigurationOptions;
  #isUnknownTold = false;

  constructor(options: FirstConfigurationOptions) {
    this.#options = options;
  }

  /**
   * Why pods start on the node without their Networks: it is not that of Multus. Undefined if it is, or if that is not
   * known. Without one, the log says so once: a node whose pods start all the same has it in another directory.
   */
  async withoutMultus(): Promise<string | undefined> {
    const { directory, path, log } = this.#options;
    const names = await readdir(directory).catch(() => []);
    const [first] = names.filter((name) => CONFIGURATION.test(name)).toSorted();
    const isUnknown = first === undefined || PACKAGED.test(first);
    if (isUnknown && !this.#isUnknownTold)
      log.info(
        { path },
        "no CNI configuration of a cluster's network: not known whether Multus is the first",
      );
    this.#isUnknownTold = isUnknown;
    if (isUnknown) return undefined;
    const types = await typesIn(join(directory, first));
    if (types.length === 0 || types.some((type) => MULTUS.test(type))) return undefined;
    return `its first CNI configuration is ${first} (${types.join(', ')}), not that of Multus, so pods start without their interface`;
  }
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
