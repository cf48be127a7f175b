/** What a sidecar has counted of one rule and backend. */
interface Count {
  readonly route: string;
  readonly backend: string;
  /** Requests, and those that failed: 5xx, a code of gRPC that says so, or a client that left without an answer. */
  readonly requests: number;
  readonly failed: number;
  /** How many requests took at most so many milliseconds. */
  readonly within: ReadonlyMap<number, number>;
}

/** What a sidecar has counted since it started. */
export interface Reading {
  /** By rule and backend. */
  readonly counts: ReadonlyMap<string, Count>;
  /** How long it took to count this. */
  readonly seconds: number;
}

/** What the sidecars of clients have seen of one rule and backend. */
export interface TrafficRow {
  /** Such as `shop/web rules[0]`; empty for requests to which no rule applies. */
  readonly route: string;
  /** Such as `shop/web-v1:80`; empty where a request went to none. */
  readonly backend: string;
  readonly requests: number;
  /** The share that did not fail. */
  readonly success: number;
  readonly rps: number;
  /** In milliseconds; infinite beyond the last bucket. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly clients: number;
}

const METRIC = 'envoy_route_milliseconds';
/** UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, DATA_LOSS. */
const GRPC_FAULTS = new Set(['2', '4', '13', '14', '15']);

/** Reads the page of a sidecar. */
export function readPage(text: string): Reading {
  let seconds = 0;
  const counts = new Map<string, Count>();
  const add = (labels: Readonly<Record<string, string>>, more: Partial<Count>) => {
    const { route = '', backend = '' } = labels;
    const key = `${route}\n${backend}`;
    const one = { route, backend, requests: 0, failed: 0, within: new Map<number, number>(), ...more };
    counts.set(key, plus(counts.get(key), one, 1));
  };
  for (const { name, labels, value } of samplesIn(text)) {
    const { code = '', grpc_status: status = '', le = '' } = labels;
    if (name === `${METRIC}_count`) {
      const isFault = !/^[1-4]/.test(code) || GRPC_FAULTS.has(status);
      add(labels, { requests: value, failed: isFault ? value : 0 });
    } else if (name === `${METRIC}_bucket` && le !== '+Inf') {
      add(labels, { within: new Map([[Number(le), value]]) });
    } else if (name === 'envoy_server_uptime') seconds = value;
  }
  return { counts, seconds };
}

/** The samples of a page of metrics, in the text format of Prometheus. */
export function* samplesIn(text: string) {
  for (const [, name, pairs = '', value] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/gm)) {
    const labels = [...pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', of = '']) => [
      key,
      of,
    ]);
    yield {
      name,
      labels: Object.fromEntries(labels) as Readonly<Record<string, string>>,
      value: Number(value),
    };
  }
}

function plus(a: Count | undefined, b: Count, sign: 1 | -1): Count {
  if (!a) return b;
  const within = new Map(a.within);
  for (const [le, value] of b.within) within.set(le, (within.get(le) ?? 0) + sign * value);
  const [requests, failed] = [a.requests + sign * b.requests, a.failed + sign * b.failed];
  return { ...a, requests, failed, within };
}

/** What came after an earlier reading of the same sidecar; all, if it has started again. */
export function since(now: Reading, before: Reading): Reading {
  if (now.seconds < before.seconds) return now;
  const counts = Array.from(now.counts, ([key, count]): [string, Count] => {
    const old = before.counts.get(key);
    return [key, old ? plus(count, old, -1) : count];
  });
  return { counts: new Map(counts), seconds: now.seconds - before.seconds };
}

/** The rows of several sidecars, in the order of their names. */
export function rowsOf(readings: readonly Reading[]): readonly TrafficRow[] {
  const sums = new Map<string, { readonly count: Count; readonly rps: number; readonly clients: number }>();
  for (const { counts, seconds } of readings) {
    for (const [key, count] of counts) {
      if (count.requests === 0) continue;
      const { count: sum, rps = 0, clients = 0 } = sums.get(key) ?? {};
      const rate = rps + count.requests / Math.max(1, seconds);
      sums.set(key, { count: plus(sum, count, 1), rps: rate, clients: clients + 1 });
    }
  }
  return [...sums]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { count, rps, clients }]) => {
      const { route, backend, requests, failed } = count;
      const success = (requests - failed) / requests;
      const [p50, p95, p99] = [quantile(count, 0.5), quantile(count, 0.95), quantile(count, 0.99)];
      return { route, backend, requests, success, rps, p50, p95, p99, clients };
    });
}

/** As Prometheus does: within a bucket, requests are taken as evenly spread. */
function quantile({ requests, within }: Count, share: number): number {
  const rank = share * requests;
  let [from, below] = [0, 0];
  for (const [le, value] of [...within].toSorted(([a], [b]) => a - b)) {
    if (value >= rank) return value === below ? le : from + ((le - from) * (rank - below)) / (value - below);
    [from, below] = [le, value];
  }
  return Number.POSITIVE_INFINITY;
}
