import { ENVOY_FILES } from '../../../src/injection/envoy/files.ts';
import type { JsonObject } from '../../../src/util/json.ts';

/** The bootstraps that come with the operator, by the names of their files. */
export const ENVOY_CONFIGURATIONS: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  Object.entries(ENVOY_FILES)
    .filter(([name]) => name.endsWith('.json'))
    .map(([name, text]) => [name, JSON.parse(text)]),
);
