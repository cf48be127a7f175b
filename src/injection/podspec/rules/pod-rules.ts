import type { Findings } from '../../../util/diagnostic.ts';
import { isArray, type JsonObject, own, ownString } from '../../../util/json.ts';
import type { Path } from '../../../util/path.ts';
import { isLabelValue, isQualifiedName } from '../names.ts';
import { profileFindings } from './container-rules.ts';
import { duplicates, items } from './rules.ts';

/** The limit of the resolver (the API server's validation, MaxDNSNameservers). */
const MAX_NAMESERVERS = 3;

/** What the API server would reject in the fields of the pod itself. */
export function* podFindings(spec: JsonObject, path: Path): Findings {
  yield* duplicates(items(spec, 'hostAliases', path), (alias) => ownString(alias, 'ip'), 'ip');
  yield* profileFindings(own(spec, 'securityContext'), [...path, 'securityContext']);
  const nameservers = own(own(spec, 'dnsConfig'), 'nameservers');
  if (isArray(nameservers) && nameservers.length > MAX_NAMESERVERS) {
    yield {
      path: [...path, 'dnsConfig', 'nameservers'],
      message: `must have at most ${MAX_NAMESERVERS} entries`,
    };
  }
}

/** What the API server would reject in labels and annotations. */
export function* metadataFindings(metadata: JsonObject, path: Path): Findings {
  const labels = Object.entries(own(metadata, 'labels') ?? {});
  const annotations = Object.entries(own(metadata, 'annotations') ?? {});
  for (const [key, value] of labels) {
    yield* keyFindings(key, [...path, 'labels', key]);
    if (!isLabelValue(String(value))) {
      const message =
        'must be at most 63 letters, digits, ".", "_" and "-", and begin and end with a letter or digit';
      yield { path: [...path, 'labels', key], message };
    }
  }
  for (const [key] of annotations) {
    // The API server checks annotation keys in lower case (ValidateAnnotations).
    yield* keyFindings(key.toLowerCase(), [...path, 'annotations', key]);
  }
}

function* keyFindings(key: string, path: Path): Findings {
  if (!isQualifiedName(key)) yield { path, message: 'must be a key such as app or example.com/team' };
}
