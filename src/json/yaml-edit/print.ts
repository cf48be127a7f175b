import { dump, timestampTag } from 'js-yaml';
import type { JsonValue } from '../json.ts';
import { KUBECTL_SCHEMA } from './kubectl-schema.ts';

/** What kubectl would not read as text is quoted, and dates, which other readers of YAML 1.1 take for such. */
const schema = KUBECTL_SCHEMA.withTags(timestampTag);

/** A value as YAML in block style, without the last newline; no string is folded. */
export function printBlock(value: JsonValue, seqNoIndent: boolean): string {
  return dump(value, { schema, lineWidth: -1, noRefs: true, seqNoIndent }).replace(/\n$/, '');
}

/** Each line but the first moved to the right; empty ones stay empty. */
export function indent(text: string, columns: number): string {
  return text.replace(/\n(?=[^\n])/g, `\n${' '.repeat(columns)}`);
}
