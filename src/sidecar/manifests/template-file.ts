import { parseEvents } from 'js-yaml';
import type { Fault, Location } from '../../json/diagnostic.ts';
import { type JsonObject, type JsonValue, own, ownString } from '../../json/json.ts';
import { locationsIn } from '../../json/locations.ts';
import type { Path } from '../../json/path.ts';
import { ManifestError, readManifests } from '../../json/yaml-edit/manifests.ts';
import { type SyntaxNode, syntaxTrees } from '../../json/yaml-edit/syntax.ts';
import { objectsOf } from '../../podspec/workload.ts';
import { DEFAULT_TEMPLATE } from '../template/template-set.ts';

/** The texts of one ConfigMap manifest, or of a file that is such a text itself. */
export interface TextSource {
  /** What the ConfigMap holds, or would hold. */
  readonly data: Readonly<Record<string, string>>;
  /** Where in the file a fault is that was found in one of its texts. */
  readonly locate: (fault: Fault) => Location;
}

const START: Location = { line: 1, column: 1 };

/**
 * The templates of a file: of each ConfigMap in it that holds any, or the file itself where it is a bare template.
 * What is no YAML at all is left for the template's own parser to complain about.
 */
export function readTemplateFile(text: string): readonly TextSource[] {
  return readConfigMapTexts(text, DEFAULT_TEMPLATE, isTemplateKey);
}

/**
 * The texts of each ConfigMap in a file of which a key is wanted; or the file itself, under `bareKey`, where there is no
 * Kubernetes object in it.
 */
export function readConfigMapTexts(
  text: string,
  bareKey: string,
  isWanted: (key: string) => boolean,
): readonly TextSource[] {
  const documents = tryRead(text);
  const objects = documents.flatMap((document, index) =>
    [...objectsOf(document)].map(([object, path]) => ({ object, index, path })),
  );
  if (!objects.some(({ object }) => typeof own(object, 'apiVersion') === 'string')) {
    return [
      {
        data: { [bareKey]: text },
        locate: ({ line, column }) => (line && column ? { line, column } : START),
      },
    ];
  }
  const file = { roots: syntaxTrees(text, parseEvents(text, {})), locationOf: locationsIn(text) };
  return objects
    .filter(
      ({ object }) =>
        ownString(object, 'kind') === 'ConfigMap' && Object.keys(own(object, 'data') ?? {}).some(isWanted),
    )
    .map(({ object, index, path }) => configMapSource(file, index, object, path));
}

/** A text that is parsed once, for all that is found in it. */
interface ParsedFile {
  readonly roots: readonly (SyntaxNode | undefined)[];
  readonly locationOf: (offset: number) => Location;
}

function tryRead(text: string): readonly JsonValue[] {
  try {
    return readManifests(text);
  } catch (err) {
    if (err instanceof ManifestError) return [];
    throw err;
  }
}

function isTemplateKey(key: string): boolean {
  return key === DEFAULT_TEMPLATE || key.startsWith(`${DEFAULT_TEMPLATE}.`);
}

function configMapSource(
  { roots, locationOf }: ParsedFile,
  index: number,
  configMap: JsonObject,
  path: Path,
): TextSource {
  const root = roots[index];
  const dataNode = [...path, 'data'].reduce<SyntaxNode | undefined>(child, root);
  const strings = Object.entries(own(configMap, 'data') ?? {}).filter(
    ([, value]) => typeof value === 'string',
  );
  return {
    data: Object.fromEntries(strings) as Record<string, string>,
    locate({ source, line, column }) {
      const node = child(dataNode, source);
      if (node?.kind !== 'scalar') return locationOf((dataNode ?? root)?.start ?? 0);
      const { line: firstLine, ...first } = locationOf(node.start);
      if (node.literalIndent === undefined || !line || !column) return { line: firstLine, ...first };
      return { line: firstLine + line - 1, column: column + node.literalIndent };
    },
  };
}

function child(node: SyntaxNode | undefined, segment: string | number): SyntaxNode | undefined {
  if (node?.kind !== 'mapping' && node?.kind !== 'sequence') return undefined;
  const entry =
    typeof segment === 'number' ? node.entries[segment] : node.entries.find(({ key }) => key === segment);
  return entry?.node;
}
