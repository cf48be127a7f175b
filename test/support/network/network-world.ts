import { type JsonObject, type JsonValue, own, ownObjects } from '../../../src/util/json.ts';
import { eventually } from '../../env/eventually.ts';
import { AdminApi } from '../operator/admin-api.ts';
import { serviceAccount } from '../operator/default-account.ts';
import { type OperatorFixture, startOperatorFixture } from '../operator/operator-fixture.ts';

export const ASKED = 'samplecrd.k8s.io/network';
export const MULTUS = 'k8s.v1.cni.cncf.io/networks';
export const AGENTS = 'envoy-initializer-node-agent';

export interface StoredPod {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly schedulingGates?: readonly { readonly name: string }[] };
}

/** `metadata` is without annotations, or has them all. */
interface PodOptions {
  readonly asked?: string;
  readonly multus?: string;
  readonly nodeName?: string;
  readonly metadata?: object;
  readonly spec?: object;
}

/** A pod that asks for Networks, of our annotation or of Multus' alone. */
export function podOn(name: string, { asked, multus, nodeName, metadata, spec }: PodOptions = {}): object {
  const annotations = {
    ...(asked !== undefined && { [ASKED]: asked }),
    ...(multus !== undefined && { [MULTUS]: multus }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations, ...metadata },
    spec: { containers: [{ name: 'app', image: 'app' }], ...(nodeName && { nodeName }), ...spec },
  };
}

/** With the first address of the range as its gateway, unless the spec has another. */
export function networkOf(name: string, cidr: string, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name, ...metadata },
    spec: { cidr, gateway: cidr.replace(/0?\/.*/, '1'), ...spec },
  };
}

/** What the API server said against it. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'it was admitted', String);
}

/** An operator, and a user who makes Networks and pods on them, in the namespace `default` where a line names no other. */
export class NetworkWorld {
  readonly fixture: OperatorFixture;
  /** For what is asked again and again: a kubectl each would take the machine from the operator. */
  readonly #api: AdminApi;
  #ranges = 0;

  private constructor(fixture: OperatorFixture) {
    this.fixture = fixture;
    this.#api = new AdminApi(fixture.controlPlane);
  }

  static async start(options?: Parameters<typeof startOperatorFixture>[0]): Promise<NetworkWorld> {
    const fixture = await startOperatorFixture(options);
    await serviceAccount(fixture.controlPlane, 'default');
    return new NetworkWorld(fixture);
  }

  stop(): Promise<void> {
    this.#api.disconnect();
    return this.fixture.stop();
  }

  apply(...objects: readonly object[]) {
    return this.fixture.apply(...objects);
  }

  /** kubectl, with the words of the line and then what has blanks. */
  readonly run = (line: string, ...last: readonly string[]): Promise<string> =>
    this.fixture.run(line, ...last);

  merge(line: string, patch: object, ...flags: readonly string[]): Promise<string> {
    return this.run(`patch ${line} --type=merge`, ...flags, '-p', JSON.stringify(patch));
  }

  /** A number that no other Network of this world has in its range, 10.N.0.0. */
  nextRange(): number {
    this.#ranges += 1;
    return this.#ranges;
  }

  /** Creates a Network `10.N.0.0/LENGTH`, and returns N when it is Ready. */
  async ready(name: string, length = 24, spec: object = {}): Promise<number> {
    const n = this.nextRange();
    await this.apply(networkOf(name, `10.${n}.0.0/${length}`, spec));
    await this.untilReason(name, 'Ready', 'Ready');
    return n;
  }

  async #status(network: string): Promise<JsonObject> {
    const path = `/apis/samplecrd.k8s.io/v1/namespaces/default/networks/${network}`;
    return ((await this.#api.get(path)).status ?? {}) as JsonObject;
  }

  /** As kubectl prints a field of the status, such as `capacity.total`. */
  async status(network: string, path: string): Promise<string> {
    const value = path
      .split('.')
      .reduce<JsonValue | undefined>((its, key) => own(its, key), await this.#status(network));
    return typeof value === 'object' ? JSON.stringify(value) : String(value ?? '');
  }

  /** Empty where there is no such condition. */
  async condition(network: string, type: string, field: string): Promise<string> {
    const found = ownObjects(await this.#status(network), 'conditions').find((each) => each.type === type);
    return String(found?.[field] ?? '');
  }

  untilReason(network: string, type: string, reason: string): Promise<void> {
    const found = async () => (await this.condition(network, type, 'reason')) === reason;
    return eventually(`${type} of ${network} is ${reason}`, found, { boundMs: 90_000 });
  }

  async pod(name: string): Promise<StoredPod> {
    return (await this.#api.get(`/api/v1/namespaces/default/pods/${name}`)) as unknown as StoredPod;
  }

  /** Resolves when the pod has these gates, and no other. */
  untilGates(name: string, ...gates: readonly string[]): Promise<void> {
    return eventually(`gates of ${name} to be [${gates}]`, async () => {
      const { schedulingGates = [] } = (await this.pod(name)).spec;
      return schedulingGates.map((gate) => gate.name).join() === gates.join();
    });
  }

  /** Resolves when there is such an Event on the object, `kind/name`. */
  untilEvent(of: string, reason: string, note: string, namespace = 'default'): Promise<void> {
    const [kind, name] = of.split('/');
    const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.name=${name},reason=${reason}`;
    return eventually(`Event ${reason} of ${of}: ${note}`, async () => {
      const { items } = (await this.#api.get(path)) as unknown as {
        readonly items: readonly {
          readonly message: string;
          readonly involvedObject: { readonly kind: string };
        }[];
      };
      return items.some(
        ({ message, involvedObject }) => involvedObject.kind.toLowerCase() === kind && message.includes(note),
      );
    });
  }

  metrics(): Promise<string> {
    return this.fixture.metrics();
  }

  async addNode(name: string, address?: string, spec: object = {}): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec });
    if (address === undefined) return;
    const status = { addresses: [{ type: 'InternalIP', address }] };
    await this.merge(`node ${name}`, { status }, '--subresource=status');
  }

  /** After SIGKILL. */
  async restart(): Promise<void> {
    process.kill(this.fixture.operator.process.pid, 'SIGKILL');
    await this.fixture.operator.restart();
  }
}
