import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';
import { must, type Operator, startOperator } from '../../env/operator.ts';

const NAMESPACE = '--namespace=envoy-initializer';
const TEMPLATE = 'configmap/envoy-initializer';
const NETWORK = 'network/example-network';
const ATTACHMENT = 'network-attachment-definition/example-network';
const SECRET = 'secret/envoy-initializer-tls';
const WEBHOOKS = 'mutatingwebhookconfiguration/envoy-initializer';

/**
 * Makes the operator do everything that it does, once, under its own service account: whoever gives it a new duty, and
 * a right for it, adds a step.
 */
export async function walkOperator(controlPlane: ControlPlane): Promise<void> {
  const kubectl: Run = async (line, input, ...last) =>
    (await must(controlPlane, [...line.split(' '), ...last], input)).stdout;
  const multus = 'test/env/control-plane/network-attachment-definition-crd.yaml';
  await kubectl(`apply -f ${join(projectDirectory(), multus)}`);
  const operator = await startOperator(controlPlane, {
    log: join(controlPlane.directory, 'operator.log'),
    ownCertificates: true,
  });
  const walk = new Walk(kubectl, operator);
  await walk.template();
  await walk.certificates();
  await walk.policies();
  await walk.network();
  await walk.pod();
  await walk.names();
  await walk.fleet();
  await walk.routes();
  await walk.leftover();
  await walk.restart();
}

/** kubectl, with the words of a line, its input, and what has blanks. */
type Run = (line: string, input?: string, ...last: readonly string[]) => Promise<string>;

class Walk {
  readonly #kubectl: Run;
  readonly #operator: Operator;

  constructor(kubectl: Run, operator: Operator) {
    this.#kubectl = kubectl;
    this.#operator = operator;
  }

  /** Makes the default one, and tells of it by an Event. */
  async template(): Promise<void> {
    await this.#kubectl(`wait ${TEMPLATE} ${NAMESPACE} --for=create --timeout=60s`);
    const reasons = `get events.events.k8s.io ${NAMESPACE} --output=jsonpath={.items[*].reason}`;
    await eventually('an Event tells of it', async () => {
      return (await this.#kubectl(reasons)).includes('TemplateAdopted');
    });
  }

  /** Makes them, and mends them, the caBundle and the owner. */
  async certificates(): Promise<void> {
    await this.#kubectl(`wait ${SECRET} ${NAMESPACE} --for=create --timeout=60s`);
    const before = await this.#kubectl(`get ${SECRET} ${NAMESPACE} --output=jsonpath={.data}`);
    await this.#merge(SECRET, { data: { 'tls.key': btoa('rubbish') } });
    await eventually('the key is mended', async () => {
      const now = await this.#kubectl(`get ${SECRET} ${NAMESPACE} --output=jsonpath={.data}`);
      return now !== before && !now.includes(btoa('rubbish'));
    });
    await this.#merge(WEBHOOKS, { metadata: { ownerReferences: null } });
    const owner = '--output=jsonpath={.metadata.ownerReferences[*].name}';
    await eventually(
      'there is an owner',
      async () => (await this.#kubectl(`get ${WEBHOOKS} ${owner}`)) !== '',
    );
  }

  /** Makes them, removes them where a template is too long for them, and makes them again. */
  async policies(): Promise<void> {
    const names = 'get mutatingadmissionpolicies,mutatingadmissionpolicybindings --output=name';
    const count = async () => (await this.#kubectl(names)).trim().split('\n').filter(Boolean).length;
    await eventually('there are two with their bindings', async () => (await count()) === 4);
    const before = await this.#kubectl(`get ${TEMPLATE} ${NAMESPACE} --output=jsonpath={.data.config}`);
    const long = { containers: [{ name: 'long', image: 'busybox', workingDir: `/${'x'.repeat(100_000)}` }] };
    await this.#merge(TEMPLATE, { data: { config: JSON.stringify(long) } });
    await eventually('there are none', async () => (await count()) === 0);
    await this.#merge(TEMPLATE, { data: { config: before } });
    await eventually('there are two again', async () => (await count()) === 4);
  }

  /** Makes one real, changes it, restores what somebody deletes, and removes it. */
  async network(): Promise<void> {
    await this.#kubectl(`apply -f ${join(projectDirectory(), 'deploy/examples/example-network.yaml')}`);
    await this.#kubectl(`wait ${NETWORK} --for=condition=Ready --timeout=60s`);
    await this.#merge(NETWORK, { spec: { mtu: 1400 } });
    await this.#kubectl(`wait ${NETWORK} --for=jsonpath={.status.mtu}=1400 --timeout=60s`);
    const uid = await this.#kubectl(`get ${ATTACHMENT} --output=jsonpath={.metadata.uid}`);
    await this.#kubectl(`delete ${ATTACHMENT}`);
    await eventually('it is restored', async () => {
      return (await this.#kubectl(`get ${ATTACHMENT} --output=jsonpath={.metadata.uid}`)) !== uid;
    });
    await this.#kubectl(`delete ${NETWORK} --timeout=60s`);
  }

  /** Holds a pod back until both its Networks are there, and tells by an Event, and its repetition, what it waits for. */
  async pod(): Promise<void> {
    const annotations = { 'samplecrd.k8s.io/network': 'later,latest' };
    await this.#apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'waiting', namespace: 'default', annotations },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    });
    const field = '--output=jsonpath={.items[?(@.reason=="WaitsForNetwork")].series.count}';
    const told = 'get events.events.k8s.io';
    await eventually('it is told what it waits for', async () => {
      return (await this.#kubectl(told)).includes('WaitsForNetwork');
    });
    await this.#network('later', 8);
    await eventually('it is told that it waits for the other', async () => {
      return (await this.#kubectl(told)).split('WaitsForNetwork').length > 2;
    });
    // It waits for both again: the same Event as the first one.
    await this.#kubectl('delete network later --timeout=60s');
    await eventually('it is told again', async () => (await this.#kubectl(`${told} ${field}`)) !== '');
    await this.#network('later', 8);
    await this.#network('latest', 7);
    const gates = 'get pod waiting --output=jsonpath={.spec.schedulingGates}';
    await eventually('it waits no more', async () => (await this.#kubectl(gates)) === '');
  }

  /** Names a pod on a Network by a Service, until it does so no more. */
  async names(): Promise<void> {
    const asked = { 'samplecrd.k8s.io/network': 'later' };
    await this.#apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'named', namespace: 'default', annotations: asked, labels: { app: 'named' } },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    });
    const annotations = { 'samplecrd.k8s.io/network': 'later', 'samplecrd.k8s.io/selector': 'app=named' };
    await this.#apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'named', namespace: 'default', annotations },
      spec: { clusterIP: 'None', ports: [{ port: 80 }] },
    });
    const slices = 'get endpointslices --selector=kubernetes.io/service-name=named';
    const addresses = `${slices} --output=jsonpath={.items[*].endpoints[*].addresses}`;
    await eventually('the Service names the pod', async () => (await this.#kubectl(addresses)) !== '');
    const ports = JSON.stringify({ spec: { ports: [{ port: 81 }] } });
    await this.#kubectl('patch service/named --type=merge --patch', '', ports);
    const port = `${slices} --output=jsonpath={.items[*].ports[*].port}`;
    await eventually('its port has changed', async () => (await this.#kubectl(port)).includes('81'));
    await this.#kubectl('annotate service/named samplecrd.k8s.io/network-');
    await eventually('it names nobody', async () => (await this.#kubectl(addresses)) === '');
  }

  /** Copies Envoy's configuration to where a pod has its sidecar, follows a change, and finds a pod that was missed. */
  async fleet(): Promise<void> {
    await this.#kubectl('create namespace fleet');
    await this.#kubectl('wait serviceaccount/default --namespace=fleet --for=create --timeout=60s');
    const spec = { containers: [{ name: 'app', image: 'app' }] };
    const annotations = { 'initializer.kubernetes.io/envoy': 'true' };
    for (const metadata of [{ name: 'missed' }, { name: 'injected', annotations }]) {
      await this.#apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...metadata, namespace: 'fleet' },
        spec,
      });
    }
    await this.#kubectl('wait configmap/envoy --namespace=fleet --for=create --timeout=60s');
    await this.#merge('configmap/envoy', { data: { more: 'text' } });
    const more = 'get configmap/envoy --namespace=fleet --output=jsonpath={.data.more}';
    await eventually('the copy has changed', async () => (await this.#kubectl(more)) === 'text');
    await this.#kubectl('label namespace fleet initializer.kubernetes.io/envoy=true');
    const reasons = 'get events.events.k8s.io --namespace=fleet --output=jsonpath={.items[*].reason}';
    await eventually('an Event tells of the one that was missed', async () => {
      return (await this.#kubectl(reasons)).includes('SidecarMissing');
    });
  }

  /** Makes the file of routes where a sidecar mounts it, follows a route, and writes its status. */
  async routes(): Promise<void> {
    await this.#kubectl(`apply --server-side -k ${await httpRouteCrds()}`);
    const added = { version: 1, templates: [], added: { volumes: ['envoy-routes'] } };
    const annotations = { 'initializer.kubernetes.io/envoy-status': JSON.stringify(added) };
    await this.#apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'routed', namespace: 'default', annotations },
      spec: { containers: [{ name: 'app', image: 'app' }] },
    });
    await this.#kubectl('wait configmap/envoy-routes --namespace=default --for=create --timeout=60s');
    await this.#apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'default' },
      spec: { ports: [{ port: 80 }] },
    });
    const status = '--output=jsonpath={.status.parents[*].controllerName}';
    // The HTTPRoute comes first, so that the file has it before the GRPCRoute takes its place.
    for (const kind of ['HTTPRoute', 'GRPCRoute']) {
      await this.#apply({
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind,
        metadata: { name: 'web', namespace: 'default' },
        spec: { parentRefs: [{ group: '', kind: 'Service', name: 'web' }], rules: [{}] },
      });
      await eventually(`the ${kind} has a status`, async () => {
        return (await this.#kubectl(`get ${kind.toLowerCase()} web ${status}`)) !== '';
      });
    }
    const file = 'get configmap/envoy-routes --namespace=default --output=jsonpath={.data}';
    await eventually('the route is in the file', async () =>
      (await this.#kubectl(file)).includes('default/web'),
    );
  }

  /** Lets go what a Network of the same name has left, and takes its place. */
  async leftover(): Promise<void> {
    const metadata = { name: 'leftover', namespace: 'default' };
    const network = { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', name: 'leftover' };
    const owner = { ...network, uid: randomUUID(), controller: true };
    await this.#apply({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { ...metadata, ownerReferences: [owner], finalizers: ['samplecrd.k8s.io/network-cleanup'] },
      spec: { config: '{}' },
    });
    await this.#network('leftover', 9);
    await this.#kubectl('wait network/leftover --for=condition=Ready --timeout=60s');
  }

  /** Takes the lease up again. */
  async restart(): Promise<void> {
    this.#operator.process.kill('SIGTERM');
    await this.#operator.restart();
  }

  async #network(name: string, tenth: number): Promise<void> {
    await this.#apply({
      apiVersion: 'samplecrd.k8s.io/v1',
      kind: 'Network',
      metadata: { name, namespace: 'default' },
      spec: { cidr: `10.${tenth}.0.0/16`, gateway: `10.${tenth}.0.1` },
    });
  }

  async #apply(object: object): Promise<void> {
    await this.#kubectl('apply -f -', JSON.stringify(object));
  }

  async #merge(object: string, patch: object): Promise<void> {
    const namespace = object.startsWith('network') ? '' : ` ${NAMESPACE}`;
    await this.#kubectl(`patch ${object}${namespace} --type=merge --patch`, '', JSON.stringify(patch));
  }
}
