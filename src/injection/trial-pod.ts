import { isObject, type JsonObject, own } from '../util/json.ts';
import { inject } from './inject.ts';
import type { Keys } from './keys.ts';
import { podCreation } from './podspec/admission-target.ts';
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
  if (result.outcome !== 'injected') return { obstacle: result.skip.messages.join('; ') };
  return { pod: optedOut(result.pod, keys) };
}

function podOf(metadata: JsonObject, spec: JsonObject): JsonObject {
  return {
    metadata: { generateName: `${NAME}-`, ...metadata },
    spec: { containers: [{ name: NAME, image: 'registry.invalid/proof' }], ...spec },
  };
}

function optedOut(pod: JsonObject, { optIn }: Keys): JsonObject {
  const metadata = own(pod, 'metadata');
  const labels = own(metadata, 'labels');
  return {
    ...pod,
    metadata: {
      ...(isObject(metadata) && metadata),
      labels: { ...(isObject(labels) && labels), [optIn]: 'false' },
    },
  };
}
