import { DEFAULT_CONTAINER_KEY } from '../../injection/inject.ts';
import { SCRAPING } from '../../injection/merge.ts';
import { celGroup, celHas, celString, celStrings, celWhen } from '../../injection/podspec/cel.ts';
import { nameOf } from '../../injection/podspec/pod.ts';
import { appliedTemplate, formatStatus } from '../../injection/status.ts';
import type { InjectionOptions } from '../../injection/template/options.ts';
import {
  APP_KINDS,
  ITEM_KINDS,
  isOfMetadata,
  KINDS,
  type Kind,
  MAP_KINDS,
  type Template,
} from '../../injection/template/template.ts';
import { type JsonObject, ownString } from '../../util/json.ts';
import { defaultContainerCondition, nameMember, sidecarMembers } from './sidecars.ts';

/** A variable of a policy: the names of the template that the pod does not have yet, and gets. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** Variables for the kinds of which a pod may already have some. Those stay, and the status names the others. */
export function additionVariables(template: Template, options: InjectionOptions): readonly Variable[] {
  return [
    ...variable(
      'imagePullSecrets',
      template.imagePullSecrets.map(nameOf),
      `${celHas('spec.imagePullSecrets')} && object.spec.imagePullSecrets.exists(s, has(s.name) && s.name == name)`,
    ),
    ...MAP_KINDS.flatMap((kind) =>
      kind === 'annotations'
        ? annotations(template, options)
        : variable(
            kind,
            Object.keys(template[kind]),
            isIn(`${isOfMetadata(kind) ? 'metadata' : 'spec'}.${kind}`),
          ),
    ),
  ];
}

function annotations(template: Template, options: InjectionOptions): readonly Variable[] {
  const keys = Object.keys(template.annotations);
  const first = defaultContainerCondition(template, options);
  const there = keys.some((key) => key.startsWith(SCRAPING)) ? isInOrScraped() : isIn('metadata.annotations');
  if (first === undefined || keys.includes(DEFAULT_CONTAINER_KEY))
    return variable('annotations', keys, there);
  const own = celString(DEFAULT_CONTAINER_KEY);
  const all = `[${[...keys.map(celString), first === 'true' ? own : celWhen(first, own)].join(', ')}]`;
  return [{ name: 'annotations', expression: filter(all, there) }];
}

function variable(name: string, names: readonly string[], there: string): readonly Variable[] {
  return names.length === 0 ? [] : [{ name, expression: filter(celStrings(names), there) }];
}

function filter(names: string, there: string): string {
  return `${names}.filter(name, !(${there}))`;
}

function isIn(path: string): string {
  return `${celHas(path)} && name in object.${path}`;
}

/** The same for annotations: those of Prometheus are added all or none, as in `mergeTemplate`. */
function isInOrScraped(): string {
  const starts = (name: string) => `${name}.startsWith(${celString(SCRAPING)})`;
  const all = 'object.metadata.annotations';
  return `${celHas('metadata.annotations')} && (name in ${all} || ${starts('name')} && ${all}.exists(key, ${starts('key')}))`;
}

/** The values of labels or annotations, by their keys, as an expression. */
export function celTexts(texts: JsonObject, further: readonly string[] = []): string {
  const members = Object.entries(texts).map(
    ([key, value]) => `${celString(key)}: ${celString(String(value))}`,
  );
  return `{${[...members, ...further].join(', ')}}`;
}

/** The member for the annotation of the default container, the application's first. */
export const DEFAULT_CONTAINER_MEMBER = `${celString(DEFAULT_CONTAINER_KEY)}: string(object.spec.containers[0].name)`;

/**
 * The text of the status annotation as an expression. It is what `formatStatus` writes: the names of the added items, in
 * the order in which `inject` adds them.
 */
export function statusExpression(
  template: Template,
  options: InjectionOptions,
  variables: readonly Variable[],
): string {
  const { before, after } = frame(template);
  const conditional = (kind: Kind) => {
    if (!variables.some(({ name }) => name === kind)) return [];
    const names = `variables.${kind}.join(${celString('","')})`;
    const text = `${celString(`"${kind}":["`)} + ${names} + ${celString('"]')}`;
    return [celWhen(`size(variables.${kind}) > 0`, text)];
  };
  const members = [
    ...sidecarMembers(template, options),
    ...APP_KINDS.flatMap((kind) => perContainer(kind, keysOf(template, kind))),
    ...ITEM_KINDS.flatMap((kind) =>
      kind === 'imagePullSecrets'
        ? conditional(kind)
        : nameMember(kind, keysOf(template, kind)).map(celString),
    ),
    ...MAP_KINDS.flatMap(conditional),
  ];
  if (members.length === 0) return celString(`${before}${after}`);
  return `${celString(before)} + ${celGroup('[', members, ']')}.join(",") + ${celString(after)}`;
}

/** The text around the members of `added`, which is the same for every pod. */
function frame(template: Template): { readonly before: string; readonly after: string } {
  const marker = 'names';
  const empty = formatStatus({
    templates: [appliedTemplate(template)],
    added: { containers: [marker] },
    overlaid: {},
    moved: {},
    requests: {},
  });
  const [before = '', after = ''] = empty.split(`"containers":["${marker}"]`);
  return { before, after };
}

function keysOf(template: Template, kind: (typeof APP_KINDS | typeof ITEM_KINDS)[number]): readonly string[] {
  return template[kind].map((item) => ownString(item, KINDS[kind].key) ?? '');
}

/** `CONTAINER/NAME` for every container of the pod and every name. */
function perContainer(kind: Kind, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const each = names.map((name) => `"\\"" + c.name + ${celString(JSON.stringify(`/${name}`).slice(1))}`);
  const items = each.join(' + "," + ');
  return [`${celString(`"${kind}":[`)} + object.spec.containers.map(c, ${items}).join(",") + "]"`];
}
