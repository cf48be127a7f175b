import { formatStatus } from '../../../src/injection/status.ts';
import { worldRoute, worldService } from '../routing/route-world.ts';
import type { FleetServer, Item } from './fleet-server.ts';

/** How many there are of each. */
export interface FleetSize {
  readonly pods: number;
  readonly networks: number;
  readonly namespaces: number;
  readonly templates: number;
  readonly routes: number;
}

/** What the operator lists or writes, by group and version. */
export const FLEET_RESOURCES = {
  '': [
    'pods',
    'namespaces',
    'nodes',
    'configmaps',
    'secrets',
    'services',
    'endpoints',
    'events',
    'limitranges',
  ],
  'apps/v1': ['controllerrevisions'],
  'admissionregistration.k8s.io/v1': [
    'mutatingwebhookconfigurations',
    'validatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
  ],
  'discovery.k8s.io/v1': ['endpointslices'],
  'gateway.networking.k8s.io/v1': ['httproutes'],
  'k8s.cni.cncf.io/v1': ['network-attachment-definitions'],
  'networking.k8s.io/v1': ['servicecidrs'],
  'samplecrd.k8s.io/v1': ['networks'],
};

/** A pod of a node has 30. */
const PODS_OF_NODE = 30;
/** Every tenth pod is on a Network, and one in a hundred misses its sidecar. */
const ON_NETWORK = 10;
const WITHOUT_SIDECAR = 100;
const OWN_NAMESPACE = 'envoy-initializer';
const STATUS = formatStatus({
  templates: [{ name: '', sha256: '0' }],
  added: { containers: ['envoy'] },
  overlaid: {},
  moved: {},
  requests: {},
});

/** Pod `index` of about 5 kB, as the API server lists it. `change` is its number of restarts. */
export function fleetPod(index: number, { namespaces, networks }: FleetSize, change = 0): Item {
  const name = `app-${index}-7c9d6b5f4d-x2x4z`;
  const network = `network-${index % Math.max(1, networks)}`;
  const isOn = networks > 0 && index % ON_NETWORK === 0;
  const address = `10.${200 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  const fields = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f:field-${i}`, { '.': {} }]));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ namespace: `clients-${index % namespaces}`, name, uid: `pod-${index}`, resourceVersion: '1' },
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels: { app: `app-${index % 1_000}`, 'pod-template-hash': '7c9d6b5f4d' },
      annotations: {
        ...(index % WITHOUT_SIDECAR !== 0 && { 'initializer.kubernetes.io/envoy-status': STATUS }),
        ...(isOn && {
          'k8s.v1.cni.cncf.io/networks': `default/${network}`,
          'k8s.v1.cni.cncf.io/network-status': JSON.stringify([
            { name: `default/${network}`, ips: ['10.0.0.7'] },
          ]),
        }),
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `app-${index % 1_000}`,
          uid: `rs-${index % 1_000}`,
          controller: true,
        },
      ],
      managedFields: [{ manager: 'kubelet', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: fields }],
    },
    spec: {
      nodeName: `node-${Math.floor(index / PODS_OF_NODE)}`,
      restartPolicy: 'Always',
      containers: ['app', 'envoy'].map((container) => ({
        name: container,
        image: 'registry.example.com/app:1.4.2',
        env: Array.from({ length: 12 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `${i}`.padEnd(40, '=') })),
      })),
    },
    status: {
      phase: 'Running',
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
      })),
      containerStatuses: [{ name: 'app', ready: true, restartCount: change }],
    },
  };
}

/** Network `index`: no two overlap. `change` is its generation, less one. */
export function fleetNetwork(index: number, change = 0): Item {
  const range = `10.${Math.floor(index / 256) % 256}.${index % 256}`;
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: {
      namespace: 'default',
      name: `network-${index}`,
      uid: `network-${index}`,
      generation: 1 + change,
    },
    spec: { cidr: `${range}.0/24`, gateway: `${range}.1` },
  };
}

/** Namespace `index`, opted in. */
export function fleetNamespace(index: number, change = 0): Item {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      ...{ name: `clients-${index}`, uid: `namespace-${index}`, resourceVersion: '1' },
      labels: { 'initializer.kubernetes.io/envoy': 'true', change: `${change}` },
    },
  };
}

/** The ConfigMap of the templates. */
export function fleetTemplates(count: number, change = 0): Item {
  const template = (index: number) =>
    JSON.stringify({
      containers: [
        {
          name: index === 0 ? 'envoy' : `envoy-${index}`,
          image: `envoyproxy/envoy:v1.40.${index === 1 ? change : 0}`,
          resources: { limits: { cpu: '1', memory: '512Mi' }, requests: { cpu: '100m', memory: '64Mi' } },
        },
      ],
    });
  const named = Array.from({ length: Math.max(0, count - 1) }, (_, i) => [
    `config.template-${i + 1}`,
    template(i + 1),
  ]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: OWN_NAMESPACE, name: 'envoy-initializer', uid: 'templates' },
    data: { config: template(0), ...Object.fromEntries(named) },
  };
}

/** Route `index` of Services of half as many. */
export function fleetRoute(index: number, { routes, namespaces }: FleetSize, change = 0): Item {
  const size = { routes, services: Math.max(1, routes >> 1), namespaces };
  const { metadata, ...rest } = worldRoute(index, size, change);
  const group = 'gateway.networking.k8s.io';
  return {
    apiVersion: `${group}/v1`,
    kind: 'HTTPRoute',
    ...rest,
    metadata: { ...metadata, uid: `route-${index}`, creationTimestamp: '2026-11-01T00:00:00Z' },
  };
}

/** The first number of a name. */
const indexOf = (name: string) => Number(/\d+/.exec(name)?.[0]);

/** Fills a server with all of them. */
export function fillFleet(server: FleetServer, size: FleetSize): void {
  server.fill('pods', { count: size.pods, make: (index) => fleetPod(index, size), indexOf });
  server.fill('namespaces', { count: size.namespaces, make: (index) => fleetNamespace(index), indexOf });
  for (let index = 0; index < size.networks; index++) server.put('networks', fleetNetwork(index));
  server.put('configmaps', fleetTemplates(size.templates));
  for (let index = 0; index < size.routes; index++) server.put('httproutes', fleetRoute(index, size));
  server.fill('services', {
    count: size.routes >> 1,
    indexOf,
    make(index) {
      const { metadata, ...rest } = worldService(index, size);
      return {
        apiVersion: 'v1',
        kind: 'Service',
        ...rest,
        metadata: { ...metadata, uid: `service-${index}`, resourceVersion: '1' },
      };
    },
  });
}
