import { formatDiagnostic, MAX_DIAGNOSTICS } from '../util/diagnostic.ts';
import { type JsonObject, own, ownObject, ownObjects } from '../util/json.ts';
import { inject } from './inject.ts';
import type { Keys } from './keys.ts';
import { podCreation } from './podspec/admission-target.ts';
import { nameOf, type Pod } from './podspec/pod.ts';
import { DEFAULT_GRACE_PERIOD, longestSleep } from './podspec/rules/grace-period.ts';
import { type PodShape, shapeFields } from './template/pod-shapes.ts';
import type { TemplateSet } from './template/template-set.ts';

const NAME = 'envoy-initializer-proof';

/** A pod for a dry run; or why the template fits no such pod. */
type TrialPod = { readonly pod: JsonObject } | { readonly obstacle: string };

/** A pod of a shape without a template, for a dry run. The live webhook skips it. */
export function plainPod(keys: Keys, shape?: PodShape): JsonObject {
  return optedOut(podOf({}, shape ? shapeFields(shape) : {}), keys);
}

/**
 * A plain pod of a shape with the template. Its grace period is as long as the template's hooks need.
 */
export function trialPod(set: TemplateSet, template: string, keys: Keys, shape?: PodShape): TrialPod {
  const { containers = [], initContainers = [] } = set.templates.get(template) ?? {};
  const seconds = longestSleep([...containers, ...initContainers]);
  const pod = podOf(
    { annotations: { [keys.templates]: template } },
    {
      ...(seconds > DEFAULT_GRACE_PERIOD && { terminationGracePeriodSeconds: seconds }),
      ...(shape && shapeFields(shape)),
    },
  );
  const result = inject({
    request: podCreation('default'),
    pod,
    namespaceLabels: {},
    options: { keys, requireAnnotation: false, operatorNamespace: '' },
    state: { set },
  });
  if (result.outcome !== 'injected')
    return { obstacle: result.skip.diagnostics.map(formatDiagnostic).join('; ') };
  return { pod: optedOut(result.pod, keys) };
}

function podOf(metadata: JsonObject, spec: JsonObject): JsonObject {
  return {
    metadata: { generateName: `${NAME}-`, ...metadata },
    spec: { containers: [{ name: NAME, image: 'registry.invalid/proof' }], ...spec },
  };
}

function optedOut(pod: JsonObject, { optIn }: Keys): JsonObject {
  const metadata = ownObject(pod, 'metadata');
  const labels = { ...ownObject(metadata, 'labels'), [optIn]: 'false' };
  return { ...pod, metadata: { ...metadata, labels } };
}

/** An answer of the API server. */
interface Refusal {
  readonly message: string;
  readonly fields: readonly { readonly field: string; readonly message: string }[];
}

/** What the API server refuses in a pod, one sentence each: with the names of containers and volumes, not with their places. */
export function refusedFields(pod: Pod, { message, fields }: Refusal): readonly string[] {
  if (fields.length === 0) return [message];
  return fields
    .slice(0, MAX_DIAGNOSTICS)
    .map(({ field, message: said }) => `${named(pod, field).field}: ${said}`);
}

/** Such as `spec.containers[name=envoy].image` for `spec.containers[1].image`, and the name. */
export function named(pod: Pod, field: string): { readonly field: string; readonly name?: string } {
  const [start, list = '', index] = /^spec\.(containers|initContainers|volumes)\[(\d+)\]/.exec(field) ?? [];
  const name = nameOf(ownObjects(own(pod, 'spec'), list)[Number(index)]);
  if (start === undefined || name === '') return { field };
  return { field: `spec.${list}[name=${name}]${field.slice(start.length)}`, name };
}
