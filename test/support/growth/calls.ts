import { pino } from 'pino';
import { createRouteHandler } from '../../../src/addons/routes/delivery/route-warnings.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import {
  createEnvoyHandler,
  createTemplateHandler,
} from '../../../src/injection/webhook/config-map-handlers.ts';
import { createInjectHandler } from '../../../src/injection/webhook/inject-handler.ts';
import { reportInjection } from '../../../src/injection/webhook/new-pod-events.ts';
import { HttpError } from '../../../src/kube/admission/http-error.ts';
import { parseJson } from '../../../src/kube/admission/read-body.ts';
import { formatReview, parseReview, type ReviewHandler } from '../../../src/kube/admission/review.ts';
import { Slices } from '../../../src/kube/util/slices.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { attachWith, createAttachHandler } from '../../../src/networks/attach/attach.ts';
import { OPEN_ACCESS } from '../../../src/networks/pods/network-access.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { podReview } from '../injection/admission-review.ts';
import { DEMO_TEMPLATE, templateSet, trustingDryRun } from '../injection/demo.ts';

const NAMESPACE = 'envoy-initializer';
/** A real logger, whose lines nothing reads. */
const log = pino({ level: 'info' }, { write: () => undefined });

/** A call with any body, answered as the server answers: with a status where it cannot be reviewed. */
export function callWith(handler: ReviewHandler, text: string): WebhookCall {
  const body = Buffer.from(text);
  const answered = () =>
    answer(handler, body).catch((err: unknown) =>
      err instanceof HttpError ? `${err.status}: ${err.message}` : '500: internal error',
    );
  return Object.assign(answered, { bytes: body.length });
}

async function answer(handler: ReviewHandler, body: Buffer): Promise<string> {
  const request = parseReview(parseJson(body));
  return formatReview(request.uid, await handler(request, new AbortController().signal));
}

/** A call, with the length of its body. */
export type WebhookCall = (() => Promise<string>) & { readonly bytes: number };

interface InjectStage {
  readonly data?: Readonly<Record<string, string>>;
  readonly namespaceLabels?: Readonly<Record<string, string>>;
}

/** The webhook that injects, with the templates of this data. */
export function injecting({ data = { config: DEMO_TEMPLATE }, namespaceLabels = {} }: InjectStage = {}) {
  const set = templateSet(data);
  return createInjectHandler({
    decideOptions: { keys: keysFor(), requireAnnotation: true, operatorNamespace: NAMESPACE },
    templates: () => ({ set }),
    namespaceSettings: async () => ({ namespaceLabels }),
    observe: (record) => reportInjection({ expect: () => undefined }, record),
    log,
    now: () => 0,
  });
}

/** The webhook that attaches pods to Networks, of which each is Ready. */
export function attaching(): ReviewHandler {
  const attach = attachWith({
    client: { list: () => Promise.reject(new Error('no Network is asked of the API server')) },
    clock: systemClock,
    networks: { get: () => undefined },
    providers: { stateOf: () => ({}) },
    access: OPEN_ACCESS,
  });
  return createAttachHandler({
    attach: (pod, namespace, options) => attach(pod, namespace, { ...options, fresh: false }),
    log,
  });
}

/** The webhook that looks through templates, and the one that looks through what Envoy reads. */
export const validatingTemplates = () =>
  createTemplateHandler({
    namespace: NAMESPACE,
    configMap: 'envoy-initializer',
    dryRun: trustingDryRun,
    forecast: () => undefined,
    log,
  });
export const validatingEnvoy = createEnvoyHandler;

/** The webhook that warns of routes, of which each has a Service. */
export const validatingRoutes = () =>
  createRouteHandler({
    routes: { byIndex: () => [] },
    services: {
      get: () => ({ metadata: { name: 'web' }, spec: { clusterIPs: ['10.96.0.7'], ports: [{ port: 80 }] } }),
    },
    grants: { list: () => [] },
    hasSynced: () => true,
    hasSidecars: () => true,
    clock: systemClock,
    slices: new Slices(systemClock),
  });

/** The review of a route with rules. */
export function routeReview(rules: JsonValue): JsonObject {
  const [group, parentRefs] = ['gateway.networking.k8s.io', [{ group: '', kind: 'Service', name: 'web' }]];
  return podReview({
    kind: { group, version: 'v1', kind: 'HTTPRoute' },
    resource: { group, version: 'v1', resource: 'httproutes' },
    name: 'web',
    namespace: NAMESPACE,
    object: {
      apiVersion: `${group}/v1`,
      kind: 'HTTPRoute',
      metadata: { name: 'web' },
      spec: { parentRefs, rules },
    },
  });
}

/** The review of a ConfigMap that is created. */
export function configMapReview(
  name: string,
  data: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): JsonObject {
  return podReview({
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    name,
    namespace: NAMESPACE,
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE, labels }, data },
  });
}
