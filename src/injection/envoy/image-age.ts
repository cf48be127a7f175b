import { type JsonObject, ownString } from '../../util/json.ts';

/** The first patch release of a minor one in which a client of HTTP/2 cannot take all memory: CVE-2026-47774. */
const FIXED: Readonly<Record<number, number>> = { 35: 11, 36: 7, 37: 3, 38: 1 };
const FIRST_MINOR = 39;
/** The images of lyft/envoy, Envoy's former place, are older than 1.9, whatever their tag. */
const IMAGE =
  /(?:^|\/)(?:lyft\/envoy(?:-[a-z-]+)?(?:[:@]|$)|envoyproxy\/envoy(?:-[a-z-]+)?:(?:[a-z-]+-)?v1\.(\d+)(?:\.(\d+))?(?:[@-]|$))/;

/** What is wrong with the version of Envoy in a container, as far as the tag of its image says one. */
export function* oldImage(container: JsonObject, readsOurs: boolean): Generator<string, void> {
  const found = IMAGE.exec(ownString(container, 'image') ?? '');
  if (!found) return;
  const [, minorText, patchText] = found;
  const minor = Number(minorText ?? 0);
  // A tag without a patch release is the last one.
  const patch = Number(patchText ?? Number.POSITIVE_INFINITY);
  const ofPatch = patchText === undefined ? '' : `.${patch}`;
  const version = minorText === undefined ? 'Envoy of lyft/envoy' : `Envoy 1.${minor}${ofPatch}`;
  if (minor < FIRST_MINOR && !(patch >= (FIXED[minor] ?? Number.NaN))) {
    yield `${version} lets one client exhaust its memory (CVE-2026-47774): use 1.38.1 or newer`;
  }
  if (minor < FIRST_MINOR && readsOurs) {
    yield `${version} cannot load the operator's configurations: they need 1.${FIRST_MINOR}`;
  }
}
