/** A metric as docs/operations.md has it: a row of its own, or in the row of its type. */
export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  /** Sorted. */
  readonly labels: readonly string[];
}

/** The metrics of a document's tables, written as in Prometheus: `name{label,label}`. */
export function documentedMetrics(text: string): readonly DocumentedMetric[] {
  return [...text.matchAll(/^\|(.*)\b(counter|gauge|histogram)\b(.*)$/gm)].flatMap(
    ([, before = '', type = '', after = '']) =>
      [...`${before.trim() || after}`.matchAll(/`([a-z_]+)(?:\{([\w,]+)\})?`/g)].map(
        ([, name = '', labels]) => ({ name, type, labels: labels?.split(',').sort() ?? [] }),
      ),
  );
}
