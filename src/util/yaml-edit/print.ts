import { dump, timestampTag } from 'js-yaml';
import type { JsonValue } from '../json.ts';
import { KUBECTL_SCHEMA } from './kubectl-schema.ts';

/** Quotes text that kubectl would not read as text, and dates, which other YAML 1.1 parsers convert. */
const schema = KUBECTL_SCHEMA.withTags(timestampTag);

/** A value as YAML in block style, without the last newline. Strings are not folded. */
export function printBlock(value: JsonValue, seqNoIndent: boolean): string {
  return dump(value, { schema, lineWidth: -1, noRefs: true, seqNoIndent }).replace(/\n$/, '');
}

/** Indents each line but the first. Empty lines stay empty. */
export function indent(text: string, columns: number): string {
  return text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(columns)}`);
}
