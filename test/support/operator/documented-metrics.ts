/** A metric as docs/operations.md has it. */
export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  /** Sorted. */
  readonly labels: readonly string[];
}

/** The metrics in a document's tables, as `name{label,label}` in a row of their type. */
export function documentedMetrics(text: string): readonly DocumentedMetric[] {
  const rows = text.matchAll(/^\| (counter|gauge|histogram) \| (.*) \|$/gm);
  return [...rows].flatMap(([, type = '', row = '']) =>
    [...row.matchAll(/`(\w+)(?:\{([\w,]+)\})?`/g)].map(([, name = '', labels]) => ({
      name,
      type,
      labels: labels?.split(',').sort() ?? [],
    })),
  );
}
