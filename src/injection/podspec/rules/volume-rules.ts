import type { Findings } from '../../../util/diagnostic.ts';
import { isObject, type JsonObject, own } from '../../../util/json.ts';
import type { Path } from '../../../util/path.ts';
import { POD_SCHEMA } from '../schema/pod-schema.ts';
import { exactlyOne, items } from './rules.ts';

const SOURCES = Object.keys(POD_SCHEMA.Volume ?? {}).filter((field) => field !== 'name');
const PROJECTIONS = Object.keys(POD_SCHEMA.VolumeProjection ?? {});

/** What the API server would reject in a volume of the right shape. */
export function* volumeFindings(volume: JsonObject, path: Path): Findings {
  // Without one, it is an emptyDir.
  yield* exactlyOne(volume, SOURCES, path, 'source, such as configMap or emptyDir: {}', true);
  yield* downwardFindings(own(volume, 'downwardAPI'), [...path, 'downwardAPI']);
  for (const [projection, at] of items(own(volume, 'projected'), 'sources', [...path, 'projected'])) {
    yield* exactlyOne(projection, PROJECTIONS, at, 'projection');
    yield* downwardFindings(own(projection, 'downwardAPI'), [...at, 'downwardAPI']);
  }
}

function* downwardFindings(source: JsonObject[string] | undefined, path: Path): Findings {
  if (!isObject(source)) return;
  for (const [item, at] of items(source, 'items', path)) {
    yield* exactlyOne(item, ['fieldRef', 'resourceFieldRef'], at, 'source');
  }
}
