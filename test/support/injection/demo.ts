import { keysFor } from '../../../src/injection/keys.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import type { DecideInput } from '../../../src/injection/rule.ts';
import { POD_SHAPES, type PodShape } from '../../../src/injection/template/pod-shapes.ts';
import { parseTemplateConfigMap, type TemplateSet } from '../../../src/injection/template/template-set.ts';
import type { JsonObject } from '../../../src/util/json.ts';

/** The template of the demo, as it is given. */
export const DEMO_TEMPLATE = `\
containers:
  - name: envoy
    image: lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1
    command: ["/usr/local/bin/envoy"]
    args:
      - "--concurrency 4"
      - "--config-path /etc/envoy/envoy.json"
      - "--mode serve"
    ports:
      - containerPort: 80
        protocol: TCP
    resources:
      limits: {cpu: "1000m", memory: "512Mi"}
      requests: {cpu: "100m", memory: "64Mi"}
    volumeMounts:
      - name: envoy-conf
        mountPath: /etc/envoy
volumes:
  - name: envoy-conf
    configMap:
      name: envoy
`;

export const OPT_IN = 'initializer.kubernetes.io/envoy';
export const STATUS = 'initializer.kubernetes.io/envoy-status';

/** The pod of the demo, opted in by annotation. */
export function demoPod(): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'myapp-pod', labels: { app: 'myapp' }, annotations: { [OPT_IN]: 'true' } },
    spec: {
      containers: [
        {
          name: 'myapp-container',
          image: 'busybox',
          command: ['sh', '-c', 'echo Hello Kubernetes! && sleep 3600'],
        },
      ],
    },
  };
}

/** The pod of the demo with other fields in its spec, and other labels and annotations. */
export function podWith(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  const pod = demoPod();
  return {
    ...pod,
    metadata: { ...(pod.metadata as JsonObject), ...metadata },
    spec: { ...(pod.spec as JsonObject), ...spec },
  };
}

/** The templates of a ConfigMap's data; throws when they are not right. */
export function templateSet(data: Readonly<Record<string, string>> = { config: DEMO_TEMPLATE }): TemplateSet {
  const parsed = parseTemplateConfigMap(data);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.set;
}

/** All that is needed to decide about a pod created in the namespace `default`. */
export function decideInput(pod: JsonObject, overrides: Partial<DecideInput> = {}): DecideInput {
  return {
    request: podCreation('default'),
    pod,
    namespaceLabels: {},
    options: { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'envoy-initializer' },
    state: { set: templateSet() },
    ...overrides,
  };
}

/** How `inject` works on files: as `decideInput` decides. */
export const MANIFEST_OPTIONS = {
  decideOptions: { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'envoy-initializer' },
  state: { set: templateSet() },
  namespace: 'default',
  podTemplates: [],
};

/** Pods that must not restart. */
export const NEVER = POD_SHAPES[0] as PodShape;

/** The templates, of which pods that must not restart do not fit the default one. */
export function withMisfit(set: TemplateSet): TemplateSet {
  const incompatibleShapes = [{ shape: NEVER, message: 'containers[0].x: no' }];
  const proved = [...set.templates].map(
    ([name, template]) => [name, name === 'config' ? { ...template, incompatibleShapes } : template] as const,
  );
  return { ...set, templates: new Map(proved) };
}

/** Stands for an API server that accepts all templates. */
const proof = async (set: TemplateSet) => ({ set, faults: [], inconclusive: [] });
export const trustingDryRun = { review: proof, prove: proof };

/** What a pod of a test has. */
export interface PodInit {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly spec?: Record<string, unknown>;
}

let count = 0;

/** A pod with a name of its own. */
export function podOf({ namespace = 'plain', labels = {}, annotations = {}, spec = {} }: PodInit) {
  count += 1;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${count}`, namespace, labels, annotations },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  };
}
