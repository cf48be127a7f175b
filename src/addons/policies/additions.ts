import { DEFAULT_CONTAINER_KEY } from '../../injection/inject.ts';
import { SCRAPING } from '../../injection/merge.ts';
import { celHas, celString, celStrings, celWhen } from '../../injection/podspec/cel.ts';
import { nameOf } from '../../injection/podspec/pod.ts';
import { isOfMetadata, MAP_KINDS } from '../../injection/template/kinds.ts';
import type { InjectionOptions } from '../../injection/template/options.ts';
import type { Template } from '../../injection/template/template.ts';
import type { JsonObject } from '../../util/json.ts';
import { defaultContainerCondition } from './sidecars.ts';

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
