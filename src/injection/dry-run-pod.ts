import { formatDiagnostic, MAX_DIAGNOSTICS, type Path, type TextDiagnostic } from '../util/diagnostic.ts';
import { isObject, type JsonObject, own, ownObjects, ownString } from '../util/json.ts';
import { inject } from './inject.ts';
import type { Keys } from './keys.ts';
import { podCreation } from './podspec/admission-target.ts';
import type { Pod } from './podspec/pod.ts';
import { DEFAULT_GRACE_PERIOD, longestSleep } from './podspec/rules/grace-period.ts';
import { APP_KINDS, isOfMetadata, KINDS, type Kind, LIST_KINDS, MAP_KINDS } from './template/kinds.ts';
import { refusalAt } from './template/parse-template.ts';
import { type PodShape, shapeFields } from './template/pod-shapes.ts';
import type { Template } from './template/template.ts';
import { type TemplateSet, templateKey } from './template/template-set.ts';

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

/** What the API server refuses in a pod, each with its field of the template if the template is to blame. */
type RefusedFields = readonly { readonly path: Path | undefined; readonly message: string }[];

/** The refusal of an injected pod by the fields of its template. */
export function refusedFields(
  template: Template,
  pod: Pod,
  {
    message,
    fields,
  }: {
    readonly message: string;
    readonly fields: readonly { readonly field: string; readonly message: string }[];
  },
): RefusedFields {
  if (fields.length === 0) return [{ path: undefined, message }];
  return fields.slice(0, MAX_DIAGNOSTICS).map(({ field, message: said }) => {
    const path = templateField(template, pod, field);
    return { path, message: path ? said : `${field}: ${said}` };
  });
}

/** Fields that are refused in every pod, at their places in the text of the template. */
export function refusals(
  { name }: Template,
  text: string,
  refused: RefusedFields,
): readonly TextDiagnostic[] {
  return refused.map(({ path, message }) =>
    refusalAt(templateKey(name), text, path, `the API server refuses a pod with this template: ${message}`),
  );
}

/**
 * The field of a template from which a field of an injected pod comes, such as `spec.containers[1].image` in an answer of the
 * API server. The path starts with `metadata` or with a field of the template's spec. Undefined if the field is the pod's own.
 */
export function templateField(template: Template, pod: Pod, field: string): Path | undefined {
  const [part, key, index, ...rest] = parseField(field);
  const after = index === undefined ? [] : [index, ...rest];
  const map = MAP_KINDS.find((kind) => kind === key);
  if (map) {
    if (part !== (isOfMetadata(map) ? 'metadata' : 'spec') || Object.keys(template[map]).length === 0)
      return undefined;
    return [...(part === 'metadata' ? [part] : []), map, ...after];
  }
  const list = LIST_KINDS.find((kind) => kind === key);
  if (part !== 'spec' || list === undefined || typeof index !== 'number') return undefined;
  const item = ownObjects(own(pod, 'spec'), list)[index];
  if (KINDS[list].type !== 'Container') return placeIn(list, template[list], item, rest);
  return (
    // A native sidecar is in the other list.
    placeIn('containers', template.containers, item, rest) ??
    placeIn('initContainers', template.initContainers, item, rest) ??
    // The application's containers, but not its init containers, get the template's variables and mounts.
    (list === 'containers' ? ofApp(template, item, rest) : undefined)
  );
}

/** Splits `a.b[0].c[example.com/x]` into its segments. */
function parseField(field: string): Path {
  return Array.from(field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g), ([, name, index = '']) => {
    if (name !== undefined) return name;
    return /^\d+$/.test(index) ? Number(index) : index;
  });
}

function ofApp(
  template: Template,
  container: JsonObject | undefined,
  [list, index, ...rest]: Path,
): Path | undefined {
  const kind = APP_KINDS.find((each) => each === list);
  if (kind === undefined || typeof index !== 'number') return undefined;
  return placeIn(kind, template[kind], ownObjects(container, kind)[index], rest);
}

/** The path in the template of its item that has the key of the pod's. */
function placeIn(
  list: Exclude<Kind, (typeof MAP_KINDS)[number]>,
  ours: readonly JsonObject[],
  item: JsonObject | undefined,
  rest: Path,
): Path | undefined {
  const { key } = KINDS[list];
  const value = ownString(item, key);
  const at = value === undefined ? -1 : ours.findIndex((each) => own(each, key) === value);
  return at === -1 ? undefined : [list, at, ...rest];
}
