import type { KubeObject } from '../../kube/api/object.ts';
import { UID_ANNOTATION } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { NotReady as NotReadyFor, Removal } from '../providers/provider.ts';
import { madeForUid } from './multus-attachment.ts';
import type { MultusReason } from './reasons.ts';

type NotReady = NotReadyFor<MultusReason>;

/** The retry interval for a missing CRD of Multus. */
const UNAVAILABLE_RETRY_MS = 10_000;

export function nameConflict(found: KubeObject): NotReady {
  const message =
    madeForUid(found) === undefined
      ? `${describe(found)} exists and does not belong to this Network: delete it, or rename the Network`
      : `${describe(found)} remains from a deleted Network: delete it, or remove its annotation ${UID_ANNOTATION} for this Network to adopt it`;
  return { kind: 'notReady', reason: 'NameConflict', message, keepsKnown: true };
}

export function terminating(found: KubeObject): NotReady {
  const message = `${describe(found)} is being deleted: the operator recreates it afterwards`;
  return { kind: 'notReady', reason: 'Terminating', message, keepsKnown: true };
}

export function terminatingNamespace({ metadata: { namespace } }: Network): NotReady {
  const message = `namespace ${namespace} is being deleted: the API server creates no objects in it`;
  return { kind: 'notReady', reason: 'NamespaceTerminating', message };
}

export function unavailable(): NotReady {
  const message =
    'the cluster has no NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1): install Multus; the operator checks again every 10 s';
  return {
    kind: 'notReady',
    reason: 'ProviderUnavailable',
    message,
    keepsKnown: true,
    retryAfterMs: UNAVAILABLE_RETRY_MS,
  };
}

/** The definition is there, but pods would start without their interface. */
export function nowhere(obstacle: string): NotReady {
  const message = `${obstacle}: install Multus on the nodes, as their first CNI configuration`;
  return { kind: 'notReady', reason: 'ProviderUnavailable', message, keepsKnown: true };
}

export function heldByOthers(found: KubeObject, finalizers: readonly string[]): Removal {
  return {
    kind: 'blocked',
    message: `${describe(found)} waits for other finalizers: ${finalizers.join(', ')}`,
  };
}

function describe({ metadata: { namespace, name } }: KubeObject): string {
  return `NetworkAttachmentDefinition ${namespace}/${name}`;
}
