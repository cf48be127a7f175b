/** The objects of a rendered kustomization: `kind/namespace/name` and the YAML of each. */
export type Manifests = ReadonlyMap<string, string>;

/** Lines that replace `removed` lines from the index `at`. */
interface Hunk {
  readonly at: number;
  readonly removed: number;
  readonly lines: readonly string[];
}

/** What a component does: the manifests without it, which may have others that it needs, and with it. */
export interface Change {
  readonly before: Manifests;
  readonly after: Manifests;
}

/**
 * The template of a chart that renders each combination of components: what a component changes in the manifests of the
 * base, or in those that another one adds, is in an `if`. `changes` are by the names of their values.
 * @throws Error if two components replace the same lines, or add the same object.
 */
export function helmTemplate(base: Manifests, changes: Readonly<Record<string, Change>>): string {
  const documents = [...base].map(([key, text]) => document(key, text, changes));
  const added = new Set<string>();
  for (const [name, { before, after }] of Object.entries(changes)) {
    for (const [key, text] of after) {
      if (before.has(key)) continue;
      if (added.has(key)) throw new Error(`two components add ${key}: expected one`);
      added.add(key);
      documents.push(`{{- if ${valuePath(name)} }}\n${document(key, text, changes)}{{- end }}\n`);
    }
  }
  return documents.join('');
}

/** The name of a component in the chart's values, such as `certManager`. */
export function valueName(component: string): string {
  return component.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function valuePath(name: string): string {
  return `.Values.components.${name}`;
}

function document(key: string, text: string, changes: Readonly<Record<string, Change>>): string {
  const lines = text.split('\n');
  const hunks: (Hunk & { readonly value: string })[] = [];
  const absent: string[] = [];
  for (const [name, { before, after }] of Object.entries(changes)) {
    const [old, changed] = [before.get(key)?.split('\n'), after.get(key)?.split('\n')];
    if (old === undefined) continue;
    const value = valuePath(name);
    if (changed === undefined) absent.push(value);
    const others = difference(lines, old);
    for (const { at, ...rest } of changed ? difference(old, changed) : [])
      hunks.push({ ...rest, value, at: indexBefore(others, at) });
  }
  const output: string[] = [];
  let replacedTo = 0;
  for (const [index, line] of lines.entries()) {
    const here = hunks.filter(({ at }) => at === index);
    for (const { value, lines: inserted } of here.filter(({ removed }) => removed === 0))
      output.push(`{{- if ${value} }}`, ...inserted, '{{- end }}');
    const [replacing, second] = here.filter(({ removed }) => removed > 0);
    if (second !== undefined || (replacing && index < replacedTo))
      throw new Error(`two components replace line ${index + 1} of ${key}: expected one`);
    if (replacing) {
      const { value, lines: instead, removed } = replacing;
      replacedTo = index + removed;
      if (instead.length === 0) output.push(`{{- if not ${value} }}`);
      else output.push(`{{- if ${value} }}`, ...instead, '{{- else }}');
    }
    output.push(line);
    if (replacedTo === index + 1) output.push('{{- end }}');
  }
  const whole = `---\n${escaped(output.join('\n'))}`;
  return absent.length === 0 ? whole : `{{- if not (or ${absent.join(' ')}) }}\n${whole}{{- end }}\n`;
}

/** The text as a template that prints it; lines that are an action stay one. */
function escaped(text: string): string {
  return text.replaceAll(/^(?!\{\{- ).*$/gm, (line) => line.replaceAll('{{', '{{ "{{" }}'));
}

/** The index, before these hunks, of the line that has this index after them. */
function indexBefore(hunks: readonly Hunk[], index: number): number {
  let shift = 0;
  for (const { at, removed, lines } of hunks)
    if (at + shift + lines.length <= index) shift += lines.length - removed;
  return index - shift;
}

/** The hunks that make `after` of `before`, by their longest common subsequence. */
function difference(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  const common: number[][] = Array.from({ length: before.length + 1 }, () => []);
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    const row = common[i] ?? [];
    for (let j = after.length - 1; j >= 0; j--)
      row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const hunks: Hunk[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      i++;
      j++;
      continue;
    }
    const [fromI, fromJ] = [i, j];
    while ((i < before.length || j < after.length) && before[i] !== after[j]) {
      if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) i++;
      else j++;
    }
    hunks.push({ at: fromI, removed: i - fromI, lines: after.slice(fromJ, j) });
  }
  return hunks;
}
