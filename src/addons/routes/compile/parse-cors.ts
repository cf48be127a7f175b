import type { Place } from './findings.ts';
import type { Cors } from './model.ts';
import { shown, TOKEN } from './parse-match.ts';
import type { HTTPRouteFilter } from './route.ts';

const FIELDS = [
  'allowOrigins',
  'allowMethods',
  'allowHeaders',
  'exposeHeaders',
  'allowCredentials',
  'maxAge',
];
/** The pattern of the CRD: a scheme and a host, of which the left part or all may be a star; or a star alone. */
const ORIGIN = /^\*$|^https?:\/\/((\*\.)?([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+|\*)(:[0-9]{1,5})?$/;

/** What becomes of a rule with a part of a filter that this program does not know. */
export const WITHOUT_FILTER = 'the rule works as if the filter were absent';

/** Reads the filter CORS. False if it has no effect and the rule goes on, undefined if it is invalid. */
export function parseCors(given: HTTPRouteFilter['cors'], at: Place): Cors | false | undefined {
  if (given === undefined) return at.add('UnsupportedValue', 'is required');
  // An unknown field may say that fewer origins are allowed.
  if (at.ignoredFields(given, FIELDS, WITHOUT_FILTER)) return false;
  const { allowOrigins = [], allowMethods = [], allowHeaders = [], exposeHeaders = [] } = given;
  const before = at.faults.length;
  const check = (name: string, values: readonly string[], pattern: RegExp) => {
    for (const [index, value] of values.entries()) {
      if (!pattern.test(value))
        at.in(name, index).add('UnsupportedValue', `${shown(value)} is not valid here`);
    }
  };
  check('allowOrigins', allowOrigins, ORIGIN);
  for (const [name, values] of Object.entries({ allowMethods, allowHeaders, exposeHeaders })) {
    check(name, values, TOKEN);
  }
  if (at.faults.length > before) return undefined;
  return {
    origins: allowOrigins,
    methods: allowMethods,
    headers: allowHeaders,
    // With credentials, browsers would take it for the name of a header.
    exposed: exposeHeaders.filter((name) => name !== '*' || !given.allowCredentials),
    // The default of the API.
    maxAge: given.maxAge ?? 5,
    credentials: given.allowCredentials ?? false,
  };
}
