import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isNotFound } from '../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { apiVersionOf, type Resource } from '../../../src/kube/api/resource.ts';
import { USER_AGENT } from '../../../src/kube/util/version.ts';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../../../src/networks/api/resources.ts';
import type { Network, NetworkSpec } from '../../../src/networks/api/types.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import {
  type NetworkOperator,
  type NetworkOperatorOptions,
  startNetworkOperator,
} from './network-operator.ts';

const NAMESPACE_AND_NAME = 'custom-columns=A:metadata.namespace,B:metadata.name';
const TIMEOUT_MS = 40_000;
const MULTUS_CRD = 'test/env/control-plane/network-attachment-definition-crd.yaml';

/** A real control plane with the Network controller beside it, and a user's view of both. */
export class NetworkLab {
  readonly controlPlane: ControlPlane;
  operator: NetworkOperator;
  #touches = 0;

  private constructor(controlPlane: ControlPlane, operator: NetworkOperator) {
    this.controlPlane = controlPlane;
    this.operator = operator;
  }

  static async start(): Promise<NetworkLab> {
    const controlPlane = await startControlPlane({ auditLog: 'Metadata' });
    try {
      await installCrds(controlPlane);
      return new NetworkLab(controlPlane, await startNetworkOperator(controlPlane));
    } catch (error) {
      await controlPlane.stop();
      throw error;
    }
  }

  async restartOperator(options?: NetworkOperatorOptions): Promise<void> {
    await this.operator.stop();
    this.operator = await startNetworkOperator(this.controlPlane, options);
  }

  async stop(): Promise<void> {
    await this.operator.stop();
    await this.controlPlane.stop();
  }

  /** Runs kubectl as a user; throws what it said where it fails. */
  async kubectl(args: readonly string[], input = ''): Promise<string> {
    return kubectl(this.controlPlane, args, input);
  }

  async createNamespace(name: string): Promise<string> {
    await this.kubectl(['create', 'namespace', name]);
    return name;
  }

  /** Creates one or more Networks in one request each, one after the other. */
  async create(...networks: readonly NetworkManifest[]): Promise<void> {
    const items = networks.map(({ namespace, name, spec, ...metadata }) => ({
      ...typeOf(NETWORKS),
      metadata: { namespace, name, ...metadata },
      spec,
    }));
    await this.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  }

  async edit(namespace: string, name: string, spec: Partial<NetworkSpec>): Promise<void> {
    const patch = JSON.stringify({ spec });
    await this.kubectl(['-n', namespace, 'patch', 'network', name, '--type=merge', '-p', patch]);
  }

  /** Creates the Network and waits until it is Ready. */
  async createReady(namespace: string, name: string, spec: NetworkSpec): Promise<Network> {
    await this.create({ namespace, name, spec });
    return this.waitFor(namespace, name, 'True Ready');
  }

  /** Deletes the Network and waits until it is gone. */
  async delete(namespace: string, name: string, ...flags: readonly string[]): Promise<void> {
    await this.kubectl(['-n', namespace, 'delete', 'network', name, '--timeout=50s', ...flags]);
  }

  /** Waits until Ready is of this status and reason, judged by the newest spec, and returns the Network. */
  waitFor(namespace: string, name: string, ready: string): Promise<Network> {
    return eventually(`Ready of Network ${namespace}/${name} to be ${ready}`, async () => {
      const network = await this.operator.client.get(NETWORKS, { namespace, name });
      const condition = conditionOf(network.status?.conditions, 'Ready');
      const now = `${condition?.status} ${condition?.reason}`;
      const isCurrent = condition?.observedGeneration === network.metadata.generation;
      return now === ready && isCurrent ? { value: network } : { otherwise: now };
    });
  }

  async attachment(namespace: string, name: string): Promise<NetworkAttachmentDefinition | undefined> {
    return this.operator.client
      .get(NETWORK_ATTACHMENT_DEFINITIONS, { namespace, name })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
  }

  waitForAttachment(
    namespace: string,
    name: string,
    is: (attachment: NetworkAttachmentDefinition | undefined) => boolean,
  ): Promise<NetworkAttachmentDefinition | undefined> {
    return eventually(`NetworkAttachmentDefinition ${namespace}/${name}`, async () => {
      const value = await this.attachment(namespace, name);
      return is(value) ? { value } : { otherwise: JSON.stringify(value) };
    });
  }

  /** Makes an event of the attachment, and waits until the reconcile that it causes is over, and all before it. */
  async touchAttachment(namespace: string, name: string): Promise<void> {
    const again = this.operator.reconciledAgain([`${namespace}/${name}`]);
    await this.kubectl([
      '-n',
      namespace,
      'annotate',
      '--overwrite',
      'net-attach-def',
      name,
      `touched=${this.#touches++}`,
    ]);
    await again;
  }

  waitForReasons(namespace: string, name: string, reasons: readonly string[]): Promise<void> {
    return eventually(`Events of ${namespace}/${name} to be ${reasons}`, async () => {
      const now = this.operator.reasonsFor(`${namespace}/${name}`);
      return now.join() === reasons.join() ? { value: undefined } : { otherwise: now.join() };
    });
  }

  /** Makes the API server refuse attachments in the namespace, until allowAttachments(). */
  async denyAttachmentsIn(namespace: string): Promise<void> {
    await this.kubectl(['create', '-f', '-'], JSON.stringify(denyingPolicy(namespace)));
    await eventually('attachments to be denied', async () => {
      const { apiVersion, kind } = typeOf(NETWORK_ATTACHMENT_DEFINITIONS);
      const object = JSON.stringify({ apiVersion, kind, metadata: { name: 'asked', namespace } });
      const asked = this.kubectl(['create', '--dry-run=server', '-f', '-'], object);
      return asked.then(
        () => ({ otherwise: 'allowed' }),
        () => ({ value: undefined }),
      );
    });
  }

  async allowAttachments(): Promise<void> {
    await this.kubectl(['delete', 'validatingadmissionpolicy,validatingadmissionpolicybinding', DENIAL]);
  }

  /** Takes the finalizers off all attachments, so that their CRD can go. */
  async releaseAttachments(): Promise<void> {
    const names = await this.kubectl([
      'get',
      'net-attach-def',
      '-A',
      '--no-headers',
      '-o',
      NAMESPACE_AND_NAME,
    ]);
    const attachments = names.split('\n').filter(Boolean);
    for (const [namespace = '', name = ''] of attachments.map((line) => line.split(/ +/))) {
      const patch = '{"metadata":{"finalizers":null}}';
      await this.kubectl(['-n', namespace, 'patch', 'net-attach-def', name, '--type=merge', '-p', patch]);
    }
  }

  /** `VERB RESOURCE[/SUBRESOURCE] NAME` of every write request of the operator in the namespace, in order, also of refused ones. */
  async writes(namespace: string): Promise<readonly string[]> {
    const lines = (await readFile(this.controlPlane.auditLogPath, 'utf8')).split('\n').filter(Boolean);
    return lines
      .map((line) => JSON.parse(line) as AuditEntry)
      .filter(({ userAgent, objectRef }) => userAgent === USER_AGENT && objectRef?.namespace === namespace)
      .filter(({ verb }) => WRITE_VERBS.has(verb))
      .map(({ verb, objectRef: { resource, subresource, name } = {} }) =>
        [
          verb,
          subresource ? `${resource}/${subresource}` : resource,
          ...(verb === 'create' ? [] : [name]),
        ].join(' '),
      );
  }
}

interface AuditEntry {
  readonly verb: string;
  readonly userAgent: string;
  readonly objectRef?: {
    readonly namespace?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
}

const WRITE_VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** A Network as a user writes it, with further metadata. */
export interface NetworkManifest {
  readonly namespace: string;
  readonly name: string;
  readonly spec: NetworkSpec;
  readonly finalizers?: readonly string[];
}

async function installCrds(controlPlane: ControlPlane): Promise<void> {
  for (const file of ['crd/networks.yaml', MULTUS_CRD]) {
    await kubectl(controlPlane, ['apply', '-f', join(projectDirectory(), file)]);
  }
  // kubectl wait fails on a CRD that is so new that it has no conditions at all.
  await eventually('the CRDs to be established', () => {
    const established = kubectl(controlPlane, ['wait', '--for=condition=Established', 'crd', '--all']);
    return established.then(
      () => ({ value: undefined }),
      (error: unknown) => ({ otherwise: String(error) }),
    );
  });
}

const DENIAL = 'no-attachments';

function denyingPolicy(namespace: string): object {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const { group, version, plural } = NETWORK_ATTACHMENT_DEFINITIONS;
  const rule = { apiGroups: [group], apiVersions: [version], resources: [plural], operations: ['CREATE'] };
  const policy = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: DENIAL },
    spec: {
      matchConstraints: {
        resourceRules: [rule],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      },
      validations: [{ expression: 'false', message: 'no attachments here' }],
    },
  };
  const binding = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: DENIAL },
    spec: { policyName: DENIAL, validationActions: ['Deny'] },
  };
  return { apiVersion: 'v1', kind: 'List', items: [policy, binding] };
}

function typeOf(resource: Resource<KubeObject>): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

/** Asks until there is a value. What is asked is a server in another process, so there is no event to wait for. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<{ readonly value: T } | { readonly otherwise: string }>,
): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const answer = await ask();
    if ('value' in answer) return answer.value;
    if (performance.now() > deadline) throw new Error(`waited for ${what}: it is ${answer.otherwise}`);
    await pause(20);
  }
}

async function kubectl(controlPlane: ControlPlane, args: readonly string[], input = ''): Promise<string> {
  const { stdout, stderr, code } = await controlPlane.kubectl(args, { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}
