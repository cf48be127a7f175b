import { type Parsed, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { hashOf, sameJson } from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { MAX_LENGTH, textExcess } from '../../util/text-bounds.ts';
import type { Keys } from '../keys.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { isDnsLabel } from '../podspec/names.ts';
import { annotation, type Pod } from '../podspec/pod.ts';
import { type InjectionOptions, parseOptions } from './options.ts';
import { parseTemplate } from './parse-template.ts';
import { parseStrategy, type Strategy } from './strategy.ts';
import type { Template } from './template.ts';

/** The ConfigMap key of the default template, and its name. */
export const DEFAULT_TEMPLATE_NAME = 'config';
const OPTIONS_KEY = 'options';
/** The ConfigMap key of the strategy. */
export const STRATEGY_KEY = 'rollout';
const FURTHER_PREFIX = 'config.';

/** The templates and options of one ConfigMap. */
export interface TemplateSet {
  /** By name: `config` for the default one, `NAME` for the key `config.NAME`. */
  readonly templates: ReadonlyMap<string, Template>;
  readonly options: InjectionOptions;
  /** sha256 of the content in hex. It differs if and only if injection differs. */
  readonly hash: string;
  /** How running pods get these templates; undefined: not at all. It is not part of the hash. */
  readonly rollout?: Strategy | undefined;
}

/** The current templates; or what is wrong, until the first valid ones. */
export type TemplateState = { readonly set: TemplateSet } | { readonly fault: string };

/** The templates of a pod, and what selects them. */
export interface TemplateSelection {
  /** The first of these that has the annotation decides. */
  readonly selectedBy: 'pod' | 'namespace' | 'default';
  readonly templates: readonly Template[];
  /** The selected names of templates that do not exist. */
  readonly unknownTemplates: readonly string[];
}

/** The templates that a pod selects by its annotation, else its namespace, else the default one. */
export function selectTemplates(
  pod: Pod,
  namespace: NamespaceSettings,
  keys: Keys,
  state: TemplateState,
): TemplateSelection {
  return templatesNamed(annotation(pod, keys.templates), namespace, state);
}

/** As `selectTemplates`, for the value of the pod's annotation. */
export function templatesNamed(
  own: string | undefined,
  namespace: NamespaceSettings,
  state: TemplateState,
): TemplateSelection {
  const byDefault = namespace.namespaceTemplates === undefined ? 'default' : 'namespace';
  const selectedBy = own === undefined ? byDefault : 'pod';
  const templates: Template[] = [];
  if (!('set' in state)) return { selectedBy, templates, unknownTemplates: [] };
  for (const name of selectedNames(own, namespace)) {
    const template = state.set.templates.get(name);
    // A pod can name any number, and one unknown name is enough to skip it.
    if (!template) return { selectedBy, templates, unknownTemplates: [name] };
    templates.push(template);
  }
  return { selectedBy, templates, unknownTemplates: [] };
}

/** The names of the templates that a pod with this annotation selects. They may not exist. */
export function selectedNames(own: string | undefined, namespace: NamespaceSettings): Iterable<string> {
  const selected = own ?? namespace.namespaceTemplates;
  if (selected === undefined) return [DEFAULT_TEMPLATE_NAME];
  // The API server rejects a pod with such an annotation.
  if (selected.length > MAX_LENGTH) return [selected];
  return new Set(selected.split(',').map((name) => name.trim()));
}

/**
 * The names of the templates that one of two sets has, and the other has not or otherwise; undefined if there is only one, or
 * if the options differ, which change what every pod gets.
 */
export function changedTemplates(a?: TemplateSet, b?: TemplateSet): ReadonlySet<string> | undefined {
  if (!a || !b || !sameJson({ ...a.options }, { ...b.options })) return undefined;
  const text = (template: Template | undefined) =>
    template && [template.hash, ...template.incompatibleShapes.map(({ shape }) => shape.name)].join();
  const names = new Set([...a.templates.keys(), ...b.templates.keys()]);
  return new Set([...names].filter((name) => text(a.templates.get(name)) !== text(b.templates.get(name))));
}

interface CheckedSet {
  readonly set: TemplateSet;
  readonly advice: readonly TextDiagnostic[];
}

/**
 * Parses the data of the template's ConfigMap: `config`, any `config.NAME`, `options` and `rollout`. One fault makes
 * all of it invalid, because half a change may be worse than none. Ignores other keys.
 */
export function parseTemplateConfigMap(data: Readonly<Record<string, string>>): Parsed<CheckedSet> {
  const excess = textExcess(data);
  if (excess !== undefined) return { faults: [textError(DEFAULT_TEMPLATE_NAME, excess)] };
  const templates = new Map<string, Template>();
  const faults: TextDiagnostic[] = [];
  const advice: TextDiagnostic[] = [];
  for (const [key, text] of Object.entries(data)) {
    const name = templateName(key);
    if (name === undefined) {
      advice.push(...keyAdvice(key));
      continue;
    }
    const parsed = parseTemplate(key, name, text);
    if ('template' in parsed) {
      templates.set(name, parsed.template);
      advice.push(...parsed.advice);
    } else {
      faults.push(...parsed.faults);
    }
    faults.push(...nameFaults(key, name));
  }
  if (!Object.hasOwn(data, DEFAULT_TEMPLATE_NAME)) {
    faults.push(textError(DEFAULT_TEMPLATE_NAME, 'required, but the key is missing'));
  }
  const options = parseOptions(OPTIONS_KEY, data[OPTIONS_KEY] ?? '');
  const strategy = data[STRATEGY_KEY];
  const rollout = strategy === undefined ? { strategy } : parseStrategy(STRATEGY_KEY, strategy);
  if ('faults' in options) faults.push(...options.faults);
  if ('faults' in rollout) faults.push(...rollout.faults);
  if (faults.length > 0 || 'faults' in options || 'faults' in rollout) return { faults };
  const hashes = Object.fromEntries(Array.from(templates, ([name, { hash }]) => [name, hash]));
  const hash = hashOf({ templates: hashes, options: { ...options.options } });
  const active = rollout.strategy?.mode === 'new-pods' ? undefined : rollout.strategy;
  return { set: { templates, ...options, hash, rollout: active }, advice };
}

/** The key of a template in the ConfigMap. */
export function templateKey(name: string): string {
  return name === DEFAULT_TEMPLATE_NAME ? name : `${FURTHER_PREFIX}${name}`;
}

/** The template of a key of the ConfigMap; undefined for another key. */
export function templateName(key: string): string | undefined {
  if (key === DEFAULT_TEMPLATE_NAME) return key;
  return key.startsWith(FURTHER_PREFIX) ? key.slice(FURTHER_PREFIX.length) : undefined;
}

/** Warns about an unknown key that resembles a known one. */
function keyAdvice(key: string): readonly TextDiagnostic[] {
  if (key === OPTIONS_KEY || key === STRATEGY_KEY) return [];
  const meant = /^config[-_]./.test(key)
    ? `${FURTHER_PREFIX}${key.slice(FURTHER_PREFIX.length)}`
    : suggest(key, [DEFAULT_TEMPLATE_NAME, OPTIONS_KEY, STRATEGY_KEY]);
  if (meant === undefined) return [];
  return [
    { ...textError(key, `unknown key: did you mean ${meant}?`), severity: 'warning', reason: 'advice' },
  ];
}

function nameFaults(key: string, name: string): readonly TextDiagnostic[] {
  if (key === DEFAULT_TEMPLATE_NAME) return [];
  const taken = name === DEFAULT_TEMPLATE_NAME;
  if (isDnsLabel(name) && !taken) return [];
  const message = taken
    ? `${DEFAULT_TEMPLATE_NAME} is the name of the default template: use another name`
    : 'the name after "config." must be at most 63 lower-case letters, digits and hyphens';
  return [textError(key, message)];
}
