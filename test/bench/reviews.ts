import { randomUUID } from 'node:crypto';

/** The pods whose admission is measured, as AdmissionReviews like kube-apiserver 1.36 sends them. */
export interface ReviewKind {
  readonly name: string;
  /** Sent by turns. */
  readonly bodies: readonly string[];
  /** Whether the answers have a patch. */
  readonly injected: boolean;
}

/** A namespace that has opted in; `stage.ts` makes it. */
export const OPTED_IN_NAMESPACE = 'bench-opted-in';

const OPT_IN = 'initializer.kubernetes.io/envoy';

function variables(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `APPLICATION_SETTING_${i}`,
    value: `https://service-${i}.shop.svc.cluster.local:8443/v1`,
  }));
}

/** What the API server itself puts into the spec of a new pod. */
const defaults = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  serviceAccountName: 'default',
  serviceAccount: 'default',
  securityContext: {},
  schedulerName: 'default-scheduler',
  tolerations: ['not-ready', 'unreachable'].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
  priority: 0,
  enableServiceLinks: true,
  preemptionPolicy: 'PreemptLowerPriority',
};

interface PodShape {
  readonly env: number;
  readonly containers: number;
  readonly optIn: 'true' | 'false' | undefined;
  readonly namespace: string;
  readonly more?: Readonly<Record<'metadata' | 'spec' | 'container', object>>;
}

function podReview({ env, containers, optIn, namespace, more }: PodShape): string {
  const name = 'shop-frontend-6d4b75cb6d';
  const mount = {
    name: 'kube-api-access-x7k2p',
    readOnly: true,
    mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  };
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      generateName: `${name}-`,
      namespace,
      uid: randomUUID(),
      creationTimestamp: '2026-11-21T12:00:00Z',
      labels: { app: 'shop-frontend', 'pod-template-hash': '6d4b75cb6d', ...(optIn && { [OPT_IN]: optIn }) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name,
          uid: randomUUID(),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      ...more?.metadata,
    },
    spec: {
      volumes: [
        {
          name: 'kube-api-access-x7k2p',
          projected: {
            sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }],
            defaultMode: 420,
          },
        },
      ],
      containers: Array.from({ length: containers }, (_, i) => ({
        name: `app-${i}`,
        image: `registry.example.com/shop/app-${i}:1.4.2`,
        ports: [{ name: 'http', containerPort: 8080 + i, protocol: 'TCP' }],
        env: variables(env),
        resources: { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
        volumeMounts: [mount],
        readinessProbe: {
          httpGet: { path: '/ready', port: 8080 + i, scheme: 'HTTP' },
          timeoutSeconds: 1,
          periodSeconds: 10,
        },
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
        ...more?.container,
      })),
      ...defaults,
      ...more?.spec,
    },
    status: {},
  };
  return JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: randomUUID(),
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      requestKind: { group: '', version: 'v1', kind: 'Pod' },
      requestResource: { group: '', version: 'v1', resource: 'pods' },
      namespace,
      operation: 'CREATE',
      userInfo: {
        username: 'system:serviceaccount:kube-system:replicaset-controller',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
      },
      object,
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
    },
  });
}

const pod = (shape: Partial<PodShape>) =>
  podReview({ env: 0, containers: 1, optIn: 'true', namespace: 'default', ...shape });
const single = (name: string, shape: Partial<PodShape>, injected = true): ReviewKind => ({
  name,
  bodies: [pod(shape)],
  injected,
});

/** The pods of a cluster: 64 shapes, of 6 kB on average. V8 keeps the look-ups of one shape at hand, but not those of many. */
export const MIXED = '6 kB, 64 shapes';

function mixed(): readonly string[] {
  const bits = [0, 1, 2, 3, 4, 5];
  return Array.from({ length: 64 }, (_, i) => {
    const [affinity, annotated, init, labelled, probed, secured] = bits.map((bit) => ((i >> bit) & 1) === 1);
    const more: PodShape['more'] = {
      metadata: { ...(annotated && { annotations: { 'prometheus.io/scrape': 'true', team: `team-${i}` } }) },
      spec: {
        ...(affinity && { nodeSelector: { 'kubernetes.io/os': 'linux' }, priorityClassName: 'high' }),
        ...(init && { initContainers: [{ name: 'init', image: 'busybox:1.37', command: ['true'] }] }),
        ...(labelled && { hostname: `host-${i}`, subdomain: 'shop' }),
        ...(secured && { securityContext: { runAsNonRoot: true, fsGroup: 1000 } }),
      },
      container: {
        ...(probed && { livenessProbe: { tcpSocket: { port: 8080 } }, workingDir: '/srv' }),
        ...(secured && { securityContext: { allowPrivilegeEscalation: false } }),
      },
    };
    return pod({ env: 5 + (i % 12), containers: 1 + (i % 4), more });
  });
}

export const REVIEWS: readonly ReviewKind[] = [
  { name: MIXED, bodies: mixed(), injected: true },
  single('2 kB', {}),
  single('5 kB', { containers: 3, env: 10 }),
  single('2,000 env', { env: 2_000 }),
  single('opted in by its namespace', { optIn: undefined, namespace: OPTED_IN_NAMESPACE }),
  single('opted out', { optIn: 'false' }, false),
];
