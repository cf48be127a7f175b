import { formatDiagnostic, MAX_DIAGNOSTICS, type Path, type TextDiagnostic } from '../util/diagnostic.ts';
import { isObject, type JsonObject, own, ownObjects, ownString } from '../util/json.ts';
import { inject } from './inject.ts';
import type { Keys } from './keys.ts';
import { podCreation } from './podspec/admission-target.ts';
import { containers, initContainers, nameOf, type Pod } from './podspec/pod.ts';
import { DEFAULT_GRACE_PERIOD, longestSleep } from './podspec/rules/grace-period.ts';
import { refusalAt } from './template/parse-template.ts';
import type { Template } from './template/template.ts';
import { type TemplateSet, templateKey } from './template/template-set.ts';

const NAME = 'envoy-initializer-proof';

/** A pod for a dry run; or why the template fits no such pod. */
type TrialPod = { readonly pod: JsonObject } | { readonly obstacle: string };

/** A pod without a template, for a dry run. The live webhook skips it. */
export function plainPod(keys: Keys): JsonObject {
  return optedOut(podOf({}, {}), keys);
}

/** A plain pod with the template. Its grace period is as long as the template's hooks need. */
export function trialPod(set: TemplateSet, template: string, keys: Keys): TrialPod {
  const { containers = [], initContainers = [] } = set.templates.get(template) ?? {};
  const seconds = longestSleep([...containers, ...initContainers]);
  const pod = podOf(
    { annotations: { [keys.templates]: template } },
    seconds > DEFAULT_GRACE_PERIOD ? { terminationGracePeriodSeconds: seconds } : {},
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
  const [part, key, ...rest] = parseField(field);
  if (part === 'metadata' && (key === 'labels' || key === 'annotations')) {
    return Object.keys(template[key]).length > 0 ? [part, key, ...rest] : undefined;
  }
  if (part !== 'spec') return undefined;
  switch (key) {
    case 'containers':
      return ofContainer(template, containers(pod), rest) ?? ofApp(template, containers(pod), rest);
    case 'initContainers':
      return ofContainer(template, initContainers(pod), rest);
    case 'volumes':
    case 'imagePullSecrets':
      return ofItem(key, template[key], ownObjects(own(pod, 'spec'), key), 'name', rest);
    case 'hostAliases':
      return ofItem(key, template[key], ownObjects(own(pod, 'spec'), key), 'ip', rest);
    case 'securityContext':
    case 'dnsConfig':
      return Object.keys(template[key]).length > 0 ? [key, ...rest] : undefined;
    default:
      return undefined;
  }
}

/** Splits `a.b[0].c[example.com/x]` into its segments. */
function parseField(field: string): Path {
  return Array.from(field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g), ([, name, index = '']) => {
    if (name !== undefined) return name;
    return /^\d+$/.test(index) ? Number(index) : index;
  });
}

/** A container of the template has the same name in the pod. */
function ofContainer(
  template: Template,
  all: readonly JsonObject[],
  [index, ...rest]: Path,
): Path | undefined {
  const container = typeof index === 'number' ? all[index] : undefined;
  for (const list of ['containers', 'initContainers'] as const) {
    const at = template[list].findIndex((each) => nameOf(each) === nameOf(container));
    if (at !== -1) return [list, at, ...rest];
  }
  return undefined;
}

/** The application's containers, but not its init containers, get the template's variables and mounts. */
function ofApp(
  template: Template,
  all: readonly JsonObject[],
  [index, list, ...rest]: Path,
): Path | undefined {
  const container = typeof index === 'number' ? all[index] : undefined;
  if (list === 'env') return ofItem(list, template.env, ownObjects(container, list), 'name', rest);
  if (list !== 'volumeMounts') return undefined;
  return ofItem(list, template.volumeMounts, ownObjects(container, list), 'mountPath', rest);
}

function ofItem(
  list: string,
  ours: readonly JsonObject[],
  all: readonly JsonObject[],
  key: string,
  [index, ...rest]: Path,
): Path | undefined {
  const value = typeof index === 'number' ? ownString(all[index], key) : undefined;
  const at = ours.findIndex((each) => own(each, key) === value);
  return at === -1 ? undefined : [list, at, ...rest];
}
