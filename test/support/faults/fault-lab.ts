import { readFileSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import type { CertificateAndKey } from '../../../src/certificates/x509/authority.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../src/kube/api/resource.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { testAuthority } from '../kube/test-authority.ts';
import type { Fault } from './fault.ts';
import { FaultProxy, type FaultProxyOptions, type Upstream } from './fault-proxy.ts';

const namespaces: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  decode: decodeObject,
};

/** A real control plane, a client that goes to it directly, and fault proxies before it. */
export class FaultLab {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly #transport: Transport;
  readonly #upstream: Upstream;
  readonly #serving: CertificateAndKey;
  readonly #caPem: string;
  #namespaces = 0;
  /** Whether it has started the control plane. */
  #isOwner = false;

  private constructor(controlPlane: ControlPlane, serving: CertificateAndKey, caPem: string) {
    this.controlPlane = controlPlane;
    const config = new KubeConfig();
    config.loadFromString(readFileSync(controlPlane.kubeconfigPath, 'utf8'));
    this.#transport = new Transport(config, systemClock);
    this.client = new KubeClient({ transport: this.#transport, clock: systemClock });
    const { certData = '', keyData = '' } = config.getCurrentUser() ?? {};
    const user = { certPem: atob(certData), keyPem: atob(keyData) };
    this.#upstream = { server: controlPlane.server, caPem: controlPlane.caPem, user };
    this.#serving = serving;
    this.#caPem = caPem;
  }

  /** Starts a control plane, without kube-controller-manager: it would create ConfigMaps in each namespace. */
  static async start(): Promise<FaultLab> {
    const { 'kube-controller-manager': _, ...binaries } = await findBinaries(process.env);
    const controlPlane = await startControlPlane({ binaries });
    const lab = await FaultLab.before(controlPlane);
    lab.#isOwner = true;
    return lab;
  }

  static async before(controlPlane: ControlPlane): Promise<FaultLab> {
    const authority = await testAuthority();
    return new FaultLab(controlPlane, await authority.server(), authority.caPem);
  }

  /** A namespace that nobody else uses. */
  async namespace(): Promise<string> {
    const name = `faults-${++this.#namespaces}`;
    await this.client.create(namespaces, { metadata: { name } } as { metadata: { namespace?: string } });
    return name;
  }

  proxy(
    schedule: readonly Fault[],
    options: Pick<FaultProxyOptions, 'view' | 'rewrite'> = {},
  ): Promise<FaultProxy> {
    const identity = { serving: this.#serving, caPem: this.#caPem };
    return FaultProxy.start(this.#upstream, { ...identity, schedule, ...options });
  }

  async close(): Promise<void> {
    await this.#transport.close();
    if (this.#isOwner) await this.controlPlane.stop();
  }
}
