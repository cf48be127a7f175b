/** A metric as docs/operations.md has it. */
export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  /** Sorted. */
  readonly labels: readonly string[];
}

/** The metrics of a document, `name{label,label}`: in a list, with types by their names, or in the row of a type. */
export function documentedMetrics(text: string): readonly DocumentedMetric[] {
  const listed = [...text.matchAll(/^- (`envoy_initializer_[^`]+`):/gm)].flatMap(([, code = '']) =>
    metrics(code),
  );
  const inRows = [...text.matchAll(/^\| (counter|gauge|histogram) \| (.*) \|$/gm)].flatMap(
    ([, type, row = '']) => metrics(row, type),
  );
  return [...listed, ...inRows];
}

function metrics(text: string, type?: string): readonly DocumentedMetric[] {
  return [...text.matchAll(/`(\w+)(?:\{([\w,]+)\})?`/g)].map(([, name = '', labels]) => ({
    name,
    type: type ?? typeByName(name),
    labels: labels?.split(',').sort() ?? [],
  }));
}

function typeByName(name: string): string {
  if (name.endsWith('_total')) return 'counter';
  return /_(programmed|duration)_seconds$/.test(name) ? 'histogram' : 'gauge';
}
