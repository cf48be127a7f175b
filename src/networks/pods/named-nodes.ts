import { isArray, isObject, type JsonValue, own, ownObjects } from '../../util/json.ts';

const HOSTNAME = 'kubernetes.io/hostname';
/** More names are not kept: then the pod counts as one for any node. */
const MAX_NAMES = 64;

/** The nodes on which alone the pod may run, as far as its spec names them; undefined if it names none. */
export function namedNodes(spec: JsonValue | undefined): readonly string[] | undefined {
  const host = own(own(spec, 'nodeSelector'), HOSTNAME);
  if (typeof host === 'string') return [host];
  const affinity = own(
    own(own(spec, 'affinity'), 'nodeAffinity'),
    'requiredDuringSchedulingIgnoredDuringExecution',
  );
  const terms = ownObjects(affinity, 'nodeSelectorTerms').map(namesIn);
  const names = terms.flatMap((each) => each ?? []);
  return terms.length > 0 && terms.every((each) => each !== undefined) && names.length <= MAX_NAMES
    ? names
    : undefined;
}

/** Terms are alternatives, and what is in one must hold together. */
function namesIn(term: JsonValue): readonly string[] | undefined {
  const found = [
    ...ownObjects(term, 'matchFields').filter(({ key }) => key === 'metadata.name'),
    ...ownObjects(term, 'matchExpressions').filter(({ key }) => key === HOSTNAME),
  ].find(({ operator }) => operator === 'In');
  const values = isObject(found) ? found.values : undefined;
  return isArray(values) ? values.filter((value) => typeof value === 'string') : undefined;
}
