import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS,
  SECRETS,
  type WebhookConfiguration,
} from '../../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { renderKubeconfig } from '../../env/control-plane/kubeconfig.ts';
import { must } from '../../env/operator.ts';
import { type ApiAccess, connect } from '../operator/api-access.ts';

export const SECRET_NAME = 'envoy-initializer-tls';

/** A namespace for an operator, with a service account that has the rights its certificates need, and no other. */
export interface CertificateStage {
  /** Names the namespace and the webhook configuration. */
  readonly name: string;
  readonly admin: KubeClient;
  readonly operator: KubeClient;
  /** kubectl as the admin; rejects with what it printed when it fails. */
  kubectl(args: readonly string[], input?: unknown): Promise<string>;
  configuration(): Promise<WebhookConfiguration>;
  /** The caBundles of its webhooks, decoded. */
  caBundles(): Promise<readonly (string | undefined)[]>;
  /** A value of the Secret, decoded. */
  secretValue(key: string): Promise<string>;
  close(): Promise<void>;
}

export async function certificateStage(controlPlane: ControlPlane, name: string): Promise<CertificateStage> {
  const kubectl = async (args: readonly string[], input?: unknown) =>
    (await must(controlPlane, args, input === undefined ? undefined : JSON.stringify(input))).stdout;
  await kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: accountAndRights(name) });
  const token = (await kubectl(['create', 'token', 'operator', '-n', name])).trim();
  const { server, caPem } = controlPlane;
  const kubeconfig = join(controlPlane.directory, `${name}.kubeconfig`);
  await writeFile(kubeconfig, renderKubeconfig({ name, server, caPem, user: { token } }), { mode: 0o600 });
  const accesses: readonly ApiAccess[] = [connect(controlPlane.kubeconfigPath), connect(kubeconfig)];
  const [admin, operator] = accesses.map(({ client }) => client);
  if (!admin || !operator) throw new Error('there are two');

  const configuration = () => admin.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name });
  return {
    name,
    admin,
    operator,
    kubectl,
    configuration,
    async caBundles() {
      const { webhooks = [] } = await configuration();
      return webhooks.map(({ clientConfig: { caBundle } }) => decoded(caBundle));
    },
    async secretValue(key) {
      const { data } = await admin.get(SECRETS, { namespace: name, name: SECRET_NAME });
      return decoded(data?.[key]) ?? '';
    },
    async close() {
      await Promise.all(accesses.map((access) => access.close()));
    },
  };
}

/** A configuration of two webhooks that are called for pods labelled with the stage's name, and block them on any failure. */
export function webhooksAt(name: string, port: number) {
  const webhook = {
    clientConfig: { url: `https://127.0.0.1:${port}/admit` },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    objectSelector: { matchLabels: { stage: name } },
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: ['first', 'second'].map((webhookName) => ({ name: `${webhookName}.example.com`, ...webhook })),
  };
}

/** Those of deploy/base that certificates need. */
function accountAndRights(name: string): readonly unknown[] {
  const metadata = { name: 'operator', namespace: name };
  const subjects = [{ kind: 'ServiceAccount', ...metadata }];
  const rbac = 'rbac.authorization.k8s.io';
  const inNamespace = [
    {
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: [SECRET_NAME],
      verbs: ['get', 'list', 'watch', 'patch'],
    },
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  ];
  const inCluster = [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
      resourceNames: [name],
      verbs: ['list', 'watch', 'patch', 'delete'],
    },
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    { apiGroups: [''], resources: ['namespaces'], resourceNames: [name], verbs: ['get'] },
  ];
  const grant = (kind: 'Role' | 'ClusterRole', meta: object, rules: readonly unknown[]) => [
    { apiVersion: `${rbac}/v1`, kind, metadata: meta, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: `${kind}Binding`,
      metadata: meta,
      subjects,
      roleRef: { apiGroup: rbac, kind, name: kind === 'Role' ? 'operator' : name },
    },
  ];
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    ...grant('Role', metadata, inNamespace),
    ...grant('ClusterRole', { name }, inCluster),
  ];
}

function decoded(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString();
}
