import { NeutronConnection } from '../../../src/addons/neutron/connection.ts';
import { NeutronProvider } from '../../../src/addons/neutron/neutron.ts';
import {
  NEUTRON_NETWORKS,
  NEUTRON_SUBNETS,
  type NeutronNetwork,
  type NeutronSubnet,
} from '../../../src/addons/neutron/resources.ts';
import { NeutronStore } from '../../../src/addons/neutron/store.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { subnetOf } from '../../../src/networks/api/subnet.ts';
import type { Network, NetworkSpec, NetworkStatus } from '../../../src/networks/api/types.ts';
import type { PythonEnvironment } from '../../env/neutron/python-environment.ts';
import { type NeutronOptions, type RunningNeutron, startNeutron } from '../../env/neutron/start.ts';
import { WITHOUT_PODS } from './fake-neutron.ts';
import { OpenStackProxy } from './openstack-proxy.ts';

const { signal } = new AbortController();
const CLUSTER = 'cluster-of-the-test';

/** A real Neutron, a proxy before it, and operators that come to it through that. */
export class NeutronLab {
  readonly neutron: RunningNeutron;
  readonly proxy: OpenStackProxy;
  /** For what the tests see and do themselves. */
  readonly direct: NeutronConnection;
  readonly #connections: NeutronConnection[] = [];
  #networks = 0;
  readonly #made: Network[] = [];

  private constructor(neutron: RunningNeutron, proxy: OpenStackProxy) {
    this.neutron = neutron;
    this.proxy = proxy;
    this.direct = this.connect(noAuth(neutron.url));
  }

  static async start(
    environment: PythonEnvironment,
    options: Omit<NeutronOptions, 'environment'> = {},
  ): Promise<NeutronLab> {
    const neutron = await startNeutron({ environment, ...options });
    return new NeutronLab(neutron, await OpenStackProxy.start(neutron.url));
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) await connection.close();
    await this.proxy.close();
    await this.neutron.stop();
  }

  connect(cloudsYaml: string, timeoutMs?: number, cacert?: string): NeutronConnection {
    const connection = new NeutronConnection({
      clock: systemClock,
      secretName: 'the/secret',
      onChange: () => {},
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    const encoded = (text: string) => Buffer.from(text).toString('base64');
    const data = { 'clouds.yaml': encoded(cloudsYaml), ...(cacert && { cacert: encoded(cacert) }) };
    connection.update({ metadata: { name: 'secret' }, data });
    this.#connections.push(connection);
    return connection;
  }

  /** As a new process of the operator, which knows nothing. */
  operator({
    cluster = CLUSTER,
    cloudsYaml = noAuth(this.proxy.url),
    timeoutMs = 60_000,
    cacert = '',
  } = {}): NeutronProvider {
    const connection = this.connect(cloudsYaml, timeoutMs, cacert);
    const api = () => connection.api();
    const store = new NeutronStore({ api, clock: systemClock });
    return new NeutronProvider({ ...WITHOUT_PODS, api, store, clusterId: async () => cluster });
  }

  /** A Network that no other test has. */
  newNetwork(spec: Partial<NetworkSpec> = {}, status?: NetworkStatus): Network {
    const name = `net-${this.#networks++}`;
    const network = {
      metadata: { namespace: 'default', name, uid: `uid-of-${name}` },
      spec: { cidr: '10.5.0.0/24', gateway: '10.5.0.1', ...spec },
      ...(status && { status }),
    };
    this.#made.push(network);
    return network;
  }

  ensure(network: Network, operator = this.operator()) {
    return operator.ensure(network, subnetOf(network.spec), signal);
  }

  remove(network: Network, operator = this.operator(), retain = false) {
    return operator.remove(network, { retain }, signal);
  }

  /** What Neutron has for the Network: by its name, so that a second one is seen, however it is marked. */
  async real(
    network: Network,
  ): Promise<{ networks: readonly NeutronNetwork[]; subnets: readonly NeutronSubnet[] }> {
    const api = this.direct.api();
    const networks = await api.list(NEUTRON_NETWORKS, { name: nameOf(network) }, signal);
    const subnets = await api.list(NEUTRON_SUBNETS, { name: nameOf(network) }, signal);
    return { networks, subnets };
  }

  /** `10.5.0.0/24 10.5.0.1` of each subnet of each network of the Network; a network without one is `-`. */
  async shapes(network: Network): Promise<readonly string[]> {
    const { networks, subnets } = await this.real(network);
    return networks.map(({ id }) => {
      const own = subnets.filter(({ networkId }) => networkId === id);
      return own.map(({ cidr, gateway }) => `${cidr} ${gateway}`).join(', ') || '-';
    });
  }

  /** Removes what the Network has in Neutron, whoever made it. */
  async clear(network: Network): Promise<void> {
    for (const { id } of (await this.real(network)).networks) {
      const { ports } = await this.call('GET', `/ports?network_id=${id}`);
      for (const port of Object.values(ports ?? {}))
        await this.call('DELETE', `/ports/${Reflect.get(Object(port), 'id')}`);
      await this.call('DELETE', `/networks/${id}`);
    }
  }

  /** The same for all Networks of the tests so far. */
  async clearAll(): Promise<void> {
    for (const network of this.#made.splice(0)) await this.clear(network);
  }

  /** A request of somebody else, with what it answers. */
  async call(method: string, path: string, body?: object): Promise<Record<string, Record<string, string>>> {
    const response = await fetch(`${this.neutron.url}/v2.0${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }

  /** A port on the Network's network. */
  async createPort(network: Network, fields: object = {}): Promise<string> {
    const [found] = (await this.real(network)).networks;
    const { port } = await this.call('POST', '/ports', { port: { network_id: found?.id, ...fields } });
    return port?.id ?? '';
  }
}

export function nameOf({ metadata: { namespace, name } }: Network): string {
  return `${namespace}/${name}`;
}

/** For a Neutron that asks nobody who he is. */
export function noAuth(url: string): string {
  return `clouds: {lab: {auth_type: none, auth: {endpoint: "${url}"}}}`;
}
