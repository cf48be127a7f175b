import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import {
  type CompileOptions,
  compilePolicies,
  type PolicyObject,
} from '../../../src/addons/policies/compile.ts';
import { POLICIES, POLICY_BINDINGS } from '../../../src/addons/policies/resources.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { namespaceSettings } from '../../../src/injection/namespace-settings.ts';
import { label } from '../../../src/injection/podspec/pod.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import { createInjectHandler } from '../../../src/injection/webhook/inject-handler.ts';
import type { ReviewHandler } from '../../../src/kube/admission/review.ts';
import { WebhookServer } from '../../../src/kube/admission/server.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES } from '../../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { dryRunPod } from '../../../src/kube/client/dry-run.ts';
import { webhookMetrics } from '../../../src/kube/prometheus/index.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { testAuthority } from '../kube/test-authority.ts';
import { connect } from '../operator/api-access.ts';
import { serviceAccount } from '../operator/default-account.ts';
import { templateSet } from './demo.ts';

/** Who looks at the pods of a namespace. */
export type Injector = 'policy' | 'webhook' | 'nobody';

/** A template under a key of its own, so that any number can be in effect side by side. */
export interface Installation {
  readonly id: string;
  readonly set: TemplateSet;
  readonly options: CompileOptions;
}

interface NamespaceMetadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The label of a pod that says by which installation it is to be looked at. */
const INSTALLATION = 'installation';
const INJECTOR = 'injector';

export function installation(
  id: string,
  set: TemplateSet,
  options: Partial<CompileOptions> = {},
): Installation {
  const name = `${id}.example.com`;
  return {
    id,
    set,
    options: {
      keys: keysFor(`${name}/envoy`),
      requireAnnotation: true,
      operatorNamespace: 'envoy-initializer',
      name,
      alone: false,
      ...options,
    },
  };
}

/**
 * A real API server with many templates installed twice, as policies and behind a webhook; each namespace has its pods
 * looked at by one of the two, or by nobody.
 */
export class PolicyLab {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly #stop: () => Promise<void>;
  readonly #handlers = new Map<string, ReviewHandler>();
  readonly #namespaces = new Map<string, NamespaceMetadata>();
  #sentinels = 0;

  private constructor(controlPlane: ControlPlane, client: KubeClient, stop: () => Promise<void>) {
    this.controlPlane = controlPlane;
    this.client = client;
    this.#stop = stop;
  }

  static async start(): Promise<PolicyLab> {
    const controlPlane = await startControlPlane();
    const api = connect(controlPlane.kubeconfigPath);
    const stops = [() => controlPlane.stop(), () => api.close()];
    const stop = async () => {
      for (const each of stops.toReversed()) await each();
    };
    try {
      const lab = new PolicyLab(controlPlane, api.client, stop);
      stops.push(await lab.#startWebhook());
      return lab;
    } catch (error) {
      await stop();
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  /** Makes a namespace for each injector: `PREFIX-policy` and so on. */
  async createNamespaces(prefix: string, { labels, annotations }: NamespaceMetadata): Promise<void> {
    for (const injector of ['policy', 'webhook', 'nobody'] as const) {
      const name = `${prefix}-${injector}`;
      const metadata = { labels: { ...labels, [INJECTOR]: injector }, ...(annotations && { annotations }) };
      this.#namespaces.set(name, metadata);
      await this.client.create(NAMESPACES, { metadata: { name, ...metadata } } as never);
      await serviceAccount(this.controlPlane, name);
    }
  }

  /** Installs the templates; resolves when the API server has their policies in effect. */
  async install(installations: readonly Installation[]): Promise<void> {
    for (const { id, set, options } of installations) {
      this.#handlers.set(
        id,
        handlerFor(set, options, (name) => this.#namespaces.get(name) ?? {}),
      );
      await this.#create(compilePolicies(set, options).objects, id);
    }
    // What was made before it is in effect when it is: the API server takes all that it has seen at once.
    this.#sentinels += 1;
    const { id, set, options } = installation(`sentinel-${this.#sentinels}`, templateSet());
    await this.#create(compilePolicies(set, options).objects, id);
    const pod = { metadata: { labels: { [options.keys.optIn]: 'true' } }, spec: plainSpec() };
    for (;;) {
      const admitted = await this.admit('policy', 'plain', id, pod);
      if (JSON.stringify(admitted).includes(options.keys.status)) return;
      await pause(50);
    }
  }

  async #create(objects: readonly PolicyObject[], id: string): Promise<void> {
    for (const object of objects) {
      const resource = object.kind === POLICIES.kind ? POLICIES : POLICY_BINDINGS;
      await this.client.apply(resource, { name: object.metadata.name }, onlyHere(object, id), {
        fieldManager: 'lab',
      });
    }
  }

  /** What becomes of the pod in such a namespace: the pod, without what each has of its own; or why it is refused. */
  async admit(injector: Injector, prefix: string, id: string, pod: JsonObject): Promise<JsonValue> {
    const metadata = pod.metadata as JsonObject;
    const labels = { ...(metadata.labels as JsonObject), [INSTALLATION]: id };
    const answer = await dryRunPod(this.client, `${prefix}-${injector}`, {
      ...pod,
      metadata: { ...metadata, name: 'asked', labels },
    });
    return answer.accepted ? comparable(answer.pod as JsonObject) : { refused: answer.error.message };
  }

  async #startWebhook(): Promise<() => Promise<void>> {
    const log = pino({ level: 'silent' });
    const authority = await testAuthority();
    const { certPem: cert, keyPem: key } = await authority.server();
    const dispatch: ReviewHandler = (request, signal) => {
      const handler = this.#handlers.get(label(request.object ?? {}, INSTALLATION) ?? '');
      return handler ? handler(request, signal) : Promise.resolve({ allowed: true });
    };
    const server = new WebhookServer({ log, metrics: webhookMetrics(new Registry()) });
    server.add('/inject', dispatch);
    server.setKeyPair({ cert, key });
    const port = await server.listen(0, '127.0.0.1');
    await this.client.create(MUTATING_WEBHOOK_CONFIGURATIONS, webhookConfiguration(port, authority.caPem));
    return () => server.close(1_000);
  }
}

export function plainSpec(): JsonObject {
  return { containers: [{ name: 'app', image: 'busybox' }] };
}

function handlerFor(
  set: TemplateSet,
  { keys, requireAnnotation, operatorNamespace }: CompileOptions,
  metadataOf: (namespace: string) => NamespaceMetadata,
): ReviewHandler {
  return createInjectHandler({
    decideOptions: { keys, requireAnnotation, operatorNamespace },
    templates: () => ({ set }),
    namespaceSettings: async (namespace) => namespaceSettings(metadataOf(namespace), keys),
    observe() {},
    log: pino({ level: 'silent' }),
    now: () => performance.now(),
  });
}

function webhookConfiguration(port: number, caPem: string) {
  const webhook = {
    name: 'webhook.example.com',
    clientConfig: {
      url: `https://127.0.0.1:${port}/inject`,
      caBundle: Buffer.from(caPem).toString('base64'),
    },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    alone: true,
    reinvocationPolicy: 'IfNeeded',
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    namespaceSelector: { matchLabels: { [INJECTOR]: 'webhook' } },
  };
  return { metadata: { name: 'webhook' }, webhooks: [webhook] } as never;
}

/** In the namespaces of policies alone, and only for the pods that are meant: hundreds would slow each other down. */
function onlyHere(object: PolicyObject, id: string): PolicyObject {
  const { matchConstraints: constraints } = object.spec;
  if (!isObject(constraints)) return object;
  const { matchExpressions } = constraints.namespaceSelector as {
    readonly matchExpressions: readonly JsonValue[];
  };
  const here = { key: INJECTOR, operator: 'In', values: ['policy'] };
  const matchConstraints = {
    ...constraints,
    namespaceSelector: { matchExpressions: [...matchExpressions, here] },
    objectSelector: { matchLabels: { [INSTALLATION]: id } },
  };
  return { ...object, spec: { ...object.spec, matchConstraints } };
}

/** The pod without what differs between any two: times, uids, and the name of the token's volume. */
function comparable(pod: JsonObject): JsonObject {
  const text = JSON.stringify(pod).replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access');
  const { metadata, ...rest } = JSON.parse(text);
  const { managedFields: _f, uid: _u, creationTimestamp: _t, namespace: _n, ...others } = metadata;
  return { ...rest, metadata: others };
}

/** Pods are admitted once it is there. */
