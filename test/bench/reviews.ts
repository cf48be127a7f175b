import { randomUUID } from 'node:crypto';

/** The pods whose admission is measured, as AdmissionReviews like kube-apiserver 1.36 sends them. */
export interface ReviewKind {
  readonly name: string;
  readonly body: string;
  /** Whether the answer has a patch. */
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
}

function podReview({ env, containers, optIn, namespace }: PodShape): string {
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
      })),
      ...defaults,
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

export const REVIEWS: readonly ReviewKind[] = [
  { name: '2 kB', body: pod({}), injected: true },
  { name: '5 kB', body: pod({ containers: 3, env: 10 }), injected: true },
  { name: '2,000 env', body: pod({ env: 2_000 }), injected: true },
  {
    name: 'opted in by its namespace',
    body: pod({ optIn: undefined, namespace: OPTED_IN_NAMESPACE }),
    injected: true,
  },
  { name: 'opted out', body: pod({ optIn: 'false' }), injected: false },
];
