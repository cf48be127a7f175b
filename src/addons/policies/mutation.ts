import { DEFAULT_CONTAINER_KEY } from '../../injection/inject.ts';
import type { Keys } from '../../injection/keys.ts';
import { celAnyOf, celGroup, celHas, celString } from '../../injection/podspec/cel.ts';
import type { InjectionOptions } from '../../injection/template/options.ts';
import { type CanaryScope, uidBound } from '../../injection/template/strategy.ts';
import {
  APP_KINDS,
  ITEM_KINDS,
  isOfMetadata,
  KINDS,
  MAP_KINDS,
  type Template,
} from '../../injection/template/template.ts';
import type { JsonObject } from '../../util/json.ts';
import { pointer } from '../../util/patch.ts';
import { MAX_LENGTH } from '../../util/text-bounds.ts';
import {
  additionVariables,
  celTexts,
  DEFAULT_CONTAINER_MEMBER,
  statusExpression,
  type Variable,
} from './additions.ts';
import { celAdd, celMake, celObject, celSetFields } from './literal.ts';
import { defaultContainerCondition, NATIVE_VARIABLE, nativeOf, sidecarOperations } from './sidecars.ts';

/** How a template is added to a pod: expressions of a MutatingAdmissionPolicy. */
export interface Mutation {
  readonly variables: readonly Variable[];
  /** The list of the operations of a JSON Patch. */
  readonly expression: string;
}

/**
 * The same as `inject` for a pod that has no item that conflicts with the template.
 * @throws UnsupportedInCel
 */
export function compileMutation(
  template: Template,
  options: InjectionOptions,
  keys: Keys,
  canary?: CanaryScope,
): Mutation {
  const additions = additionVariables(template, options);
  const native = nativeOf(template, options) === 'variable';
  const variables = [...(native ? [{ name: 'native', expression: NATIVE_VARIABLE }] : []), ...additions];
  const lists = [
    ...APP_KINDS.flatMap((kind) => toContainers(kind, template[kind])),
    celGroup('[', fixedOperations(template, options), ']'),
    ...conditionalOperations(template, options, additions),
    `[${celAdd(celString(pointer(['metadata', 'annotations', keys.status])), 'variables.status')}]`,
  ];
  const left = celAnyOf([
    namespaceSelects(keys),
    annotationsMayExceed(template, keys),
    ...(canary ? canaryConditions(canary) : []),
  ]);
  return {
    variables: [...variables, { name: 'status', expression: statusExpression(template, options, additions) }],
    expression: `${left} ? [] :\n${lists.join(' +\n')}`,
  };
}

/** Whether the namespace selects templates. Only the mutation sees the namespace; conditions do not. */
function namespaceSelects({ templates: key }: Keys): string {
  const annotations = 'namespaceObject.metadata.annotations';
  return `has(${annotations}) && ${celString(key)} in ${annotations}`;
}

/** Whether a pod belongs to the canary: the same as `isCanary`. */
function canaryConditions({ namespaces, percent }: CanaryScope): readonly string[] {
  const conditions: string[] = [];
  if (percent > 0) {
    const isInside = `has(o.controller) && o.controller && o.uid < ${celString(uidBound(percent))}`;
    conditions.push(
      `${celHas('metadata.ownerReferences')} && object.metadata.ownerReferences.exists(o, ${isInside})`,
    );
  }
  if (namespaces !== undefined) {
    const labels = 'namespaceObject.metadata.labels';
    const each = Object.entries(namespaces).map(
      ([key, value]) =>
        `${celString(key)} in ${labels} && ${labels}[${celString(key)}] == ${celString(value)}`,
    );
    conditions.push([`has(${labels})`, ...each].join(' && '));
  }
  return conditions;
}

/** Whether the annotations might become too large for the API server. The webhook knows exactly. */
function annotationsMayExceed({ annotations }: Template, { status }: Keys): string {
  const added = Object.entries({ ...annotations, [status]: '', [DEFAULT_CONTAINER_KEY]: 'x'.repeat(63) });
  const most = MAX_LENGTH - new TextEncoder().encode(added.flat().join('')).length;
  const bytes = (text: string) => `size(bytes(${text}))`;
  const all = 'object.metadata.annotations';
  const existing = `${all}.map(key, ${bytes('key')} + ${bytes(`${all}[key]`)}).sum()`;
  return `${bytes('variables.status')} + (${celHas('metadata.annotations')} ? ${existing} : 0) > ${most}`;
}

/** Adds to each of the pod's own containers. Runs before sidecars move their indices. */
function toContainers(list: (typeof APP_KINDS)[number], items: readonly JsonObject[]): readonly string[] {
  if (items.length === 0) return [];
  const indices = 'lists.range(size(object.spec.containers))';
  const path = (end: string) => `"/spec/containers/" + string(i) + ${celString(`/${list}${end}`)}`;
  const adds = items.map((item) =>
    celAdd(path('/-'), celObject(item, KINDS[list].type, `spec.containers.${list}`)),
  );
  return [
    `${indices}.filter(i, !has(object.spec.containers[i].${list})).map(i, ${celAdd(path(''), '[]')})`,
    `${indices}.map(i, ${celGroup('[', adds, ']')}).flatten()`,
  ];
}

function fixedOperations(template: Template, options: InjectionOptions): readonly string[] {
  const lists = ITEM_KINDS.flatMap((list) => {
    if (template[list].length === 0) return [];
    const make = celMake(['spec', list], '[]');
    // Those that the pod does not have come later.
    if (list === 'imagePullSecrets') return [make];
    const object = (item: JsonObject) => celObject(item, KINDS[list].type, `spec.${list}`);
    return [make, ...template[list].map((item) => celAdd(celString(`/spec/${list}/-`), object(item)))];
  });
  const maps = MAP_KINDS.flatMap((kind) => {
    const fields = template[kind];
    // There is always the status.
    if (Object.keys(fields).length === 0 && kind !== 'annotations') return [];
    if (isOfMetadata(kind)) return [celMake(['metadata', kind], '{}')];
    return [celMake(['spec', kind], '{}'), ...celSetFields(kind, KINDS[kind].type, fields)];
  });
  return [...sidecarOperations(template, options), ...lists, ...maps];
}

/** One operation for each listed name that the pod does not have yet. */
function conditionalOperations(
  template: Template,
  options: InjectionOptions,
  additions: readonly Variable[],
): readonly string[] {
  const first = defaultContainerCondition(template, options) !== undefined;
  const further = first && !Object.hasOwn(template.annotations, DEFAULT_CONTAINER_KEY);
  const texts = {
    labels: celTexts(template.labels),
    annotations: celTexts(template.annotations, further ? [DEFAULT_CONTAINER_MEMBER] : []),
  };
  return additions.flatMap(({ name }) => {
    if (name === 'imagePullSecrets') {
      const add = celAdd('"/spec/imagePullSecrets/-"', 'Object.spec.imagePullSecrets{name: name}');
      return [`variables.imagePullSecrets.map(name, ${add})`];
    }
    if (name !== 'labels' && name !== 'annotations') return [];
    const add = celAdd(`"/metadata/${name}/" + jsonpatch.escapeKey(name)`, `${texts[name]}[name]`);
    return [`variables.${name}.map(name, ${add})`];
  });
}
