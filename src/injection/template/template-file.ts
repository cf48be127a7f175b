import { type Location, locationsIn, type Path, type TextDiagnostic } from '../../util/diagnostic.ts';
import { type JsonObject, type JsonValue, own, ownString, stringsIn } from '../../util/json.ts';
import { ManifestError, parseText, readManifests } from '../../util/manifests/parse.ts';
import { childOf, type SyntaxNode } from '../../util/manifests/syntax.ts';
import { objectsOf } from '../podspec/workload.ts';
import { DEFAULT_TEMPLATE_NAME, templateName } from './template-set.ts';

/** The texts of one ConfigMap manifest, or of a bare file. */
export interface TextSource {
  /** The data of the ConfigMap, or what it would be. */
  readonly data: Readonly<Record<string, string>>;
  /** The place in the file of a fault in one of the texts. */
  readonly locate: (fault: TextDiagnostic) => Location;
}

const START: Location = { line: 1, column: 1 };

/**
 * The templates of a file: from each ConfigMap that has any, or the file itself if it is a bare template. The parser of
 * templates reports invalid YAML.
 */
export function readTemplateFile(text: string): readonly TextSource[] {
  return readConfigMapTexts(text, DEFAULT_TEMPLATE_NAME, (key) => templateName(key) !== undefined);
}

/**
 * The texts of each ConfigMap in a file that has a wanted key. If the file contains no Kubernetes object, the file
 * itself under `bareKey`.
 */
export function readConfigMapTexts(
  text: string,
  bareKey: string,
  isWanted: (key: string) => boolean,
): readonly TextSource[] {
  let documents: readonly JsonValue[] = [];
  try {
    documents = readManifests(text);
  } catch (err) {
    if (!(err instanceof ManifestError)) throw err;
  }
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
  const { roots, origin } = parseText(text);
  const inText = locationsIn(text);
  const locationOf = (offset: number) => inText(origin(offset));
  const trees = roots();
  return objects
    .filter(
      ({ object }) =>
        ownString(object, 'kind') === 'ConfigMap' && Object.keys(own(object, 'data') ?? {}).some(isWanted),
    )
    .map(({ object, index, path }) => configMapSource(object, path, trees[index], locationOf));
}

function configMapSource(
  configMap: JsonObject,
  path: Path,
  root: SyntaxNode | undefined,
  locationOf: (offset: number) => Location,
): TextSource {
  const dataNode = [...path, 'data'].reduce<SyntaxNode | undefined>(childOf, root);
  return {
    data: stringsIn(own(configMap, 'data')),
    locate({ source, line, column }) {
      const node = childOf(dataNode, source);
      if (node?.kind !== 'scalar') return locationOf((dataNode ?? root)?.start ?? 0);
      const { line: firstLine, ...first } = locationOf(node.start);
      if (node.literalIndent === undefined || !line || !column) return { line: firstLine, ...first };
      return { line: firstLine + line - 1, column: column + node.literalIndent };
    },
  };
}
