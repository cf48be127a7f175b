import { isDescending } from './container-rules.ts';
import type { Findings } from './fault.ts';
import { isObject, type JsonObject, own, ownString } from './json.ts';
import type { Path } from './path.ts';
import { POD_SCHEMA } from './pod-schema.ts';
import { dnsLabel, exactlyOne, items, matching, range } from './rules.ts';

const SOURCES = Object.keys(POD_SCHEMA.Volume ?? {}).filter((field) => field !== 'name');

/** What the API server would refuse in a volume whose shape is right. */
export function* volumeFindings(volume: JsonObject, path: Path): Findings {
  yield* dnsLabel(volume, path);
  yield* exactlyOne(volume, SOURCES, path, 'source, such as configMap or emptyDir: {}');
  for (const field of SOURCES) {
    const source = own(volume, field);
    if (isObject(source)) yield* sourceFindings(field, source, [...path, field]);
  }
}

function* sourceFindings(field: string, source: JsonObject, path: Path): Findings {
  if (field === 'configMap' && !ownString(source, 'name')) {
    yield { path: [...path, 'name'], message: 'required: write the name of the ConfigMap' };
  }
  if (field === 'secret' && !ownString(source, 'secretName')) {
    yield { path: [...path, 'secretName'], message: 'required: write the name of the Secret' };
  }
  yield* fileFindings(source, path);
  for (const [projection, at] of items(source, 'sources', path)) {
    const kinds = Object.keys(POD_SCHEMA.VolumeProjection ?? {});
    yield* exactlyOne(projection, kinds, at, 'projection');
    for (const kind of kinds) {
      const inner = own(projection, kind);
      if (isObject(inner)) yield* fileFindings(inner, [...at, kind]);
    }
  }
}

/** File modes have nine bits, and files stay inside their volume. */
function* fileFindings(source: JsonObject, path: Path): Findings {
  yield* range(source, 'defaultMode', path, 0, 0o777);
  for (const [item, at] of items(source, 'items', path)) {
    yield* range(item, 'mode', at, 0, 0o777);
    const inside = (value: string) => value !== '' && isDescending(value);
    yield* matching(item, 'path', at, inside, 'must be a path inside the volume: relative, without ".."');
  }
}
