import { type Fault, toFaults } from '../../json/diagnostic.ts';
import { isObject, type JsonValue, own } from '../../json/json.ts';
import { parseYaml } from '../../json/yaml.ts';
import type { ObjectSchema } from '../../podspec/schema/schema.ts';
import { checkObject } from '../../podspec/schema/schema-check.ts';

/** The policy of an installation, from the key `options` of the template's ConfigMap. */
export interface InjectionOptions {
  /** What becomes of a pod that the template conflicts with: admitted as it is, or refused. */
  readonly onConflict: 'skip' | 'deny';
  /** Which pods get their sidecars as native ones (KEP-753): those that are to end, all, or none. */
  readonly nativeSidecar: 'jobs' | 'always' | 'never';
  /** Whether the template's containers come after the pod's own or before them. */
  readonly position: 'last' | 'first';
}

export const DEFAULT_OPTIONS: InjectionOptions = {
  onConflict: 'skip',
  nativeSidecar: 'jobs',
  position: 'last',
};

const FIELDS: ObjectSchema = {
  onConflict: { type: 'string', values: ['skip', 'deny'] },
  nativeSidecar: { type: 'string', values: ['jobs', 'always', 'never'] },
  position: { type: 'string', values: ['last', 'first'] },
};

type ParsedOptions = { readonly options: InjectionOptions } | { readonly faults: readonly Fault[] };

/** Parses the options of an installation; what is not there has its default. */
export function parseOptions(source: string, text: string): ParsedOptions {
  if (text.trim() === '') return { options: DEFAULT_OPTIONS };
  const parsed = parseYaml(text);
  if ('error' in parsed) {
    return { faults: [{ source, path: '', ...parsed.location, message: parsed.error }] };
  }
  const faults = toFaults(source, checkObject(parsed.value, FIELDS, {}, []), parsed.locate);
  return faults.length > 0 ? { faults } : { options: fromChecked(parsed.value) };
}

/** The schema check has made sure that every field that is there has one of the right values. */
function fromChecked(value: JsonValue): InjectionOptions {
  const given = isObject(value) ? Object.keys(FIELDS).filter((key) => own(value, key) != null) : [];
  return { ...DEFAULT_OPTIONS, ...Object.fromEntries(given.map((key) => [key, own(value, key)])) };
}
