import type { NeutronApi } from '../../../src/addons/neutron/client.ts';
import { NEUTRON_NETWORKS, NEUTRON_SUBNETS } from '../../../src/addons/neutron/resources.ts';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import type { SoakNetwork } from '../network/soak-world.ts';

const { signal } = new AbortController();
const THEIRS = 'somebody else’s';

/** What has to be true of a real Neutron when the soak's Networks are quiet. */
export class SoakNeutron {
  readonly #api: Pick<NeutronApi, 'list' | 'create'>;
  readonly #namesakes: string[] = [];

  constructor(api: Pick<NeutronApi, 'list' | 'create'>) {
    this.#api = api;
  }

  /** Makes networks of the names that some of ours will have. */
  async prepare(networks: readonly SoakNetwork[]): Promise<void> {
    for (const [i, { namespace, name, provider }] of networks.entries()) {
      if (provider !== 'neutron' || i % 10 !== 0) continue;
      this.#namesakes.push(`${namespace}/${name}`);
      const theirs = { name: `${namespace}/${name}`, description: THEIRS };
      await this.#api.create(NEUTRON_NETWORKS, theirs, signal);
    }
  }

  /** What is not as it has to be, a sentence each. */
  async faults(networks: ReadonlyMap<string, Network>): Promise<readonly string[]> {
    const subnets = await this.#api.list(NEUTRON_SUBNETS, {}, signal);
    const real = (await this.#api.list(NEUTRON_NETWORKS, {}, signal)).map(({ id, name, description }) => {
      const matching = subnets.filter(({ networkId }) => networkId === id);
      const ranges = matching.map(({ cidr, gateway }) => ` ${cidr} ${gateway}`).join();
      return description === THEIRS ? `theirs ${name}` : `ours ${name}${ranges}`;
    });
    const wanted = [
      ...this.#namesakes.map((name) => `theirs ${name}`),
      ...[...networks].flatMap(([key, { spec, status }]) => {
        const isReady = conditionOf(status?.conditions, 'Ready')?.status === 'True';
        return isReady && spec.provider === 'neutron' ? [`ours ${key} ${spec.cidr} ${spec.gateway}`] : [];
      }),
    ];
    return [
      ...without(real, wanted).map((line) => `Neutron has ${line}`),
      ...without(wanted, real).map((line) => `Neutron has no ${line}`),
    ];
  }
}

/** The lines that are there more often than among the others. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
