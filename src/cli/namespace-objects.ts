import { ENVOY_CONFIG_MAP } from '../injection/envoy/configuration-age.ts';
import type { NamespaceSettings } from '../injection/namespace-settings.ts';
import { limitRangeOf } from '../injection/podspec/rules/limit-ranges.ts';
import { CONFIG_MAPS, LIMIT_RANGES } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { ifReadable } from './readable.ts';

type Objects = Pick<NamespaceSettings, 'envoyFiles' | 'limitRanges'>;

/** What the decision about a pod reads of the objects in its namespace, once for each. What the user may not read is unknown. */
export class NamespaceObjects {
  readonly #client: Pick<KubeClient, 'get' | 'list'>;
  readonly #operatorNamespace: string;
  readonly #known = new Map<string, Promise<Objects>>();

  constructor(client: Pick<KubeClient, 'get' | 'list'>, operatorNamespace: string) {
    this.#client = client;
    this.#operatorNamespace = operatorNamespace;
  }

  in(namespace: string): Promise<Objects> {
    const known = this.#known.get(namespace) ?? this.#read(namespace);
    this.#known.set(namespace, known);
    return known;
  }

  async #read(namespace: string): Promise<Objects> {
    const filesIn = async (of: string) =>
      (await ifReadable(this.#client.get(CONFIG_MAPS, { namespace: of, name: ENVOY_CONFIG_MAP })))?.data;
    const [own, ranges] = await Promise.all([
      filesIn(namespace),
      ifReadable(this.#client.list(LIMIT_RANGES, { namespace })),
    ]);
    return {
      envoyFiles: own ?? (await filesIn(this.#operatorNamespace)),
      limitRanges: ranges?.items.map(limitRangeOf),
    };
  }
}
