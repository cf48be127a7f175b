import { parseTemplateConfigMap } from '../../../src/injection/template/template-set.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { HttpsClient } from '../kube/https-client.ts';
import { AdminApi, type Admission } from '../operator/admin-api.ts';
import { type OperatorFixture, startOperatorFixture } from '../operator/operator-fixture.ts';
import { podReview } from './admission-review.ts';

/** What the webhook answers to a review. */
export interface Answer {
  readonly status: number;
  /** Of the AdmissionReview; where the status is not 200, the text in place of it. */
  readonly response: JsonObject | string;
}

/** The webhook's own count of what it was asked, and of what it decided: by `skipped/conflict` and the like. */
export interface Counts {
  readonly asked: number;
  readonly decided: Readonly<Record<string, number>>;
}

/** A real API server with the manifests of deploy/base and the operator, to create pods in and to ask about pods. */
export class InjectionStage {
  readonly fixture: OperatorFixture;
  readonly #api: AdminApi;
  readonly #webhook: HttpsClient;
  /** As they were after the last request that was counted; undefined where another one followed. */
  #counts: Counts | undefined;

  private constructor(fixture: OperatorFixture) {
    const { controlPlane, operator } = fixture;
    this.fixture = fixture;
    this.#api = new AdminApi(controlPlane);
    this.#webhook = new HttpsClient(Number(new URL(operator.webhookUrl).port), operator.caPem);
  }

  static async start(): Promise<InjectionStage> {
    return new InjectionStage(await startOperatorFixture());
  }

  async stop(): Promise<void> {
    this.#api.disconnect();
    this.#webhook.disconnect();
    await this.fixture.stop();
  }

  /** Makes namespaces, by their labels, and waits until pods can be created there. */
  async namespaces(labels: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<void> {
    const objects = Object.entries(labels).map(([name, its]) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: its },
    }));
    if (objects.length > 0) await this.fixture.apply(...objects);
    for (const name of Object.keys(labels)) await this.serviceAccount(name);
  }

  /** Waits until pods can be created in a namespace; nothing that they mount there is of another name each time. */
  async serviceAccount(namespace: string): Promise<void> {
    if (!this.fixture.controlPlane.hasControllerManager) return;
    const its = ['serviceaccount/default', `--namespace=${namespace}`];
    await this.fixture.kubectl('wait', '--for=create', ...its, '--timeout=30s');
    await this.fixture.kubectl('patch', ...its, '--patch={"automountServiceAccountToken":false}');
  }

  /** Creates a pod, in a dry run. */
  create(namespace: string, pod: JsonObject | string): Promise<Admission> {
    return this.call('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
  }

  /** Any request, as the cluster's administrator. */
  call(...request: Parameters<AdminApi['call']>): Promise<Admission> {
    this.#counts = undefined;
    return this.#api.call(...request);
  }

  /** Asks the webhook itself, as the API server would if its selectors let it. */
  async ask(request: JsonObject): Promise<Answer> {
    this.#counts = undefined;
    const { status, body } = await this.#webhook.call('/inject', JSON.stringify(podReview(request)));
    return { status, response: status === 200 ? JSON.parse(body).response : body };
  }

  async counts(): Promise<Counts> {
    const text = await this.fixture.metrics();
    const calls = text.matchAll(/^controller_runtime_webhook_requests_total\{(.*)\} (\d+)$/gm);
    const asked = [...calls].filter(([, labels]) => labels?.includes('webhook="/inject"'));
    const decided = text.matchAll(/^envoy_initializer_injections_total\{(.*)\} (\d+)$/gm);
    const label = (labels: string | undefined, name: string) =>
      new RegExp(`${name}="([^"]*)"`).exec(labels ?? '')?.[1] ?? '';
    return {
      asked: asked.reduce((sum, [, , value]) => sum + Number(value), 0),
      decided: Object.fromEntries(
        [...decided].map(([, its, value]) => [
          `${label(its, 'decision')}/${label(its, 'reason')}`,
          Number(value),
        ]),
      ),
    };
  }

  /** What was counted while something was done. */
  async counting<T>(act: () => Promise<T>): Promise<{ readonly result: T } & Counts> {
    const before = this.#counts ?? (await this.counts());
    const result = await act();
    const after = await this.counts();
    this.#counts = after;
    const more = Object.entries(after.decided)
      .map(([key, value]) => [key, value - (before.decided[key] ?? 0)] as const)
      .filter(([, value]) => value !== 0);
    return { result, asked: after.asked - before.asked, decided: Object.fromEntries(more) };
  }

  /** Writes the templates, and waits until pods are injected with them. */
  async adopt(data: Readonly<Record<string, string>>): Promise<void> {
    const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps/envoy-initializer`;
    const { data: current = {} } = (await this.call('GET', path)).pod;
    const before = await this.#generation();
    const metadata = { name: 'envoy-initializer' };
    const { code, message } = await this.call('PUT', path, { metadata, data });
    if (code !== 200) throw new Error(message);
    if (hashOf(current as typeof data) === hashOf(data)) return;
    await eventually('the templates are adopted', async () => (await this.#generation()) > before);
  }

  async #generation(): Promise<number> {
    const text = await this.fixture.metrics();
    return Number(/^envoy_initializer_template_generation (\d+)$/m.exec(text)?.[1]);
  }
}

function hashOf(data: Readonly<Record<string, string>>): string | undefined {
  const parsed = parseTemplateConfigMap(data);
  return 'set' in parsed ? parsed.set.hash : undefined;
}
