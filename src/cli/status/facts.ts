import type { TemplateSet } from '../../injection/template/template-set.ts';
import type { LeaseRecord } from '../../kube/leaderelection/lease.ts';
import type { Installation } from '../installation.ts';
import type { Replica } from '../replica-pages.ts';
import type { Survey } from '../survey.ts';
import type { Samples } from './samples.ts';

/** What was read; or why it could not be read, such as a missing right. */
export type Read<T> = { readonly value: T } | { readonly unreadable: string };

/** A replica and its pages. */
export interface ReplicaFacts extends Replica {
  readonly metrics: Read<Samples>;
  /** The checks of /readyz that fail. */
  readonly notReady: readonly string[];
  /** Objects whose last reconcile failed, such as `network default/web: …`. Only the leader has some. */
  readonly failing: Read<readonly string[]>;
  /** The hash of the templates that new pods get; undefined if it has none. */
  readonly templateHash: Read<string | undefined>;
}

/** A webhook of one of the two configurations. */
export interface WebhookFacts {
  readonly name: string;
  readonly hasBundle: boolean;
  /** The namespace of its Service; undefined for one with a URL. */
  readonly namespace?: string | undefined;
}

export interface TemplateFacts {
  /** Undefined if the template is faulty. */
  readonly hash: string | undefined;
  readonly faults: readonly string[];
  /** The strategy for rollouts. */
  readonly rollout?: TemplateSet['rollout'];
  readonly annotations: Readonly<Record<string, string>>;
}

export interface NetworkFacts {
  /** Its namespace and name. */
  readonly key: string;
  /** Why it is not Ready, or not connected on its nodes; undefined if it is. */
  readonly reason: string | undefined;
  readonly provider: string;
}

/** What `status` knows about an installation. */
export interface StatusFacts {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The version of this program. */
  readonly client: string;
  /** The version of the API server, such as v1.36.3. */
  readonly server: string;
  readonly namespace: string;
  readonly configmap: string;
  /** The operator's Deployment; undefined if it does not exist. */
  readonly installation: Read<Installation | undefined>;
  readonly replicas: Read<readonly ReplicaFacts[]>;
  readonly lease: Read<LeaseRecord | undefined>;
  /** Undefined for a configuration that does not exist. */
  readonly webhooks: Read<Readonly<Record<'mutating' | 'validating', readonly WebhookFacts[] | undefined>>>;
  /** Undefined if its ConfigMap does not exist. */
  readonly template: Read<TemplateFacts | undefined>;
  /** Whether the API server has the kind of Multus. */
  readonly hasAttachments: Read<boolean>;
  /** Undefined if their DaemonSet does not exist. */
  readonly nodeAgents: Read<{ readonly wanted: number; readonly ready: number } | undefined>;
  /** Undefined without the CustomResourceDefinition. */
  readonly networks: Read<readonly NetworkFacts[] | undefined>;
  readonly pods: Read<Survey>;
}
