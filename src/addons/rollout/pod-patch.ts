import type { Operation } from 'fast-json-patch';
import { ENVOY_CONFIG_MAP } from '../../injection/envoy/files.ts';
import { DRAIN, type Keys } from '../../injection/keys.ts';
import { annotation } from '../../injection/podspec/pod.ts';
import { formatStatus } from '../../injection/status.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import type { JsonObject } from '../../util/json.ts';
import { pointer } from '../../util/patch.ts';
import type { Observed } from './observe.ts';
import type { InPlaceChange } from './pod-change.ts';

/** What the status of a changed pod records. */
export interface ChangeRecord {
  readonly at: Date;
  /** sha256 in hex of the ConfigMap that the sidecar reads at its restart; undefined if it is unknown. */
  readonly config: string | undefined;
  /** The pod before the change. */
  readonly before: Pick<Observed, 'ready' | 'isDraining' | 'restarts' | 'status'>;
}

/** The operation by which the API server refuses the patch for another pod of the name. */
function samePod({ metadata }: KubeObject): Operation {
  return { op: 'test', path: '/metadata/uid', value: metadata.uid };
}

/** The operations that change images and the status annotation together. They fail if either was changed meanwhile. */
export function changePatch(
  pod: KubeObject & JsonObject,
  { images, status, restarts }: InPlaceChange,
  keys: Keys,
  { at, config, before }: ChangeRecord,
): readonly Operation[] {
  const path = pointer(['metadata', 'annotations', keys.status]);
  const configs = restarts && config !== undefined ? { [ENVOY_CONFIG_MAP]: config } : before.status?.configs;
  const text = formatStatus({
    ...status,
    at: at.toISOString(),
    // A drained pod is not Ready because of the drain.
    wasReady: before.ready === true || before.isDraining,
    ...(restarts && { restarts: before.restarts }),
    ...(configs && { configs }),
  });
  return [
    samePod(pod),
    { op: 'test', path, value: annotation(pod, keys.status) },
    ...images.flatMap(({ list, index, name, from, to }): Operation[] => {
      const place = ['spec', list, index];
      return [
        { op: 'test', path: pointer([...place, 'name']), value: name },
        { op: 'test', path: pointer([...place, 'image']), value: from },
        { op: 'replace', path: pointer([...place, 'image']), value: to },
      ];
    }),
    { op: 'replace', path, value: text },
  ];
}

/** The operations for the subresource `resize`; empty if no resources change. */
export function resizePatch(
  pod: KubeObject,
  { resources }: Pick<InPlaceChange, 'resources'>,
): readonly Operation[] {
  if (resources.length === 0) return [];
  const changes = resources.flatMap(({ list, index, name, to }): Operation[] => {
    const place = ['spec', list, index];
    return [
      { op: 'test', path: pointer([...place, 'name']), value: name },
      { op: 'add', path: pointer([...place, 'resources']), value: to },
    ];
  });
  return [samePod(pod), ...changes];
}

/** The operations that set the annotation which takes the pod out of its Services. */
export function drainPatch(pod: KubeObject): readonly Operation[] {
  // An injected pod has annotations. The value is a percentage for Envoy.
  return [samePod(pod), { op: 'add', path: pointer(['metadata', 'annotations', DRAIN]), value: '100' }];
}

export function undrainPatch(pod: KubeObject): readonly Operation[] {
  return [samePod(pod), { op: 'remove', path: pointer(['metadata', 'annotations', DRAIN]) }];
}
