import type { Parsed } from '../../util/diagnostic.ts';
import { isObject, withoutNulls } from '../../util/json.ts';
import { checkYaml } from '../../util/yaml.ts';
import { checkObject, type ObjectSchema } from '../podspec/schema/schema.ts';

/** The policy of an installation, from the key `options` of the template's ConfigMap. */
export interface InjectionOptions {
  /** Whether a pod that conflicts with the template is admitted unchanged (`skip`) or rejected (`deny`). */
  readonly onConflict: 'skip' | 'deny';
  /** The pods that get native sidecars (KEP-753): pods that are meant to finish, all, or none. */
  readonly nativeSidecar: 'jobs' | 'always' | 'never';
  /** Whether the template's containers come after or before the pod's own. */
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

/** Parses the options of an installation. Missing ones have their defaults. */
export function parseOptions(source: string, text: string): Parsed<{ readonly options: InjectionOptions }> {
  if (text.trim() === '') return { options: DEFAULT_OPTIONS };
  const parsed = checkYaml(source, text, (value) => checkObject(value, FIELDS, {}, []));
  if ('faults' in parsed) return parsed;
  // The schema check guarantees that each field has an accepted value.
  const given = withoutNulls(parsed.value);
  return { options: { ...DEFAULT_OPTIONS, ...(isObject(given) && given) } };
}
