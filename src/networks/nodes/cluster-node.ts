import { NODES } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import { own, ownObjects, ownTexts } from '../../util/json.ts';

/** The part of core/v1 Node that Networks need. */
export interface ClusterNode extends KubeObject {
  /** The ranges of the pods on it. */
  readonly cidrs: readonly string[];
  readonly addresses: readonly string[];
  /** Whether its kubelet does not respond: what the node ran may still run. */
  readonly isAway: boolean;
  readonly isCordoned: boolean;
  /** Whether only pods with a toleration may be scheduled there. The taints of conditions, such as not-ready, do not count. */
  readonly isTainted: boolean;
}

export const CLUSTER_NODES: Resource<ClusterNode> = {
  ...NODES,
  decode(value) {
    const [spec, status] = [own(value, 'spec'), own(value, 'status')];
    const internal = ownObjects(status, 'addresses').filter(({ type }) => type === 'InternalIP');
    return {
      metadata: identityOf(decodeObject(value)),
      cidrs: ownTexts(spec, 'podCIDRs'),
      addresses: internal.map(({ address }) => String(address)),
      isAway: ownObjects(status, 'conditions').some(
        (each) => each.type === 'Ready' && each.status !== 'True',
      ),
      isCordoned: own(spec, 'unschedulable') === true,
      isTainted: ownObjects(spec, 'taints').some(
        ({ key, effect }) =>
          (effect === 'NoSchedule' || effect === 'NoExecute') &&
          !String(key).startsWith('node.kubernetes.io/'),
      ),
    };
  },
};
