import { InvalidArgumentError } from 'commander';
import { isDnsLabel, isDnsSubdomain } from '../../injection/podspec/names.ts';
import type { RangePolicy } from '../../networks/controller/spec-acceptance.ts';
import { formatRange, parseRange, type Range, readRange } from '../../networks/ranges/cidr.ts';
import { MAX_TIMER_MS, parseDuration } from '../../util/duration.ts';
import { suggest } from '../../util/suggest.ts';

/** A parser of values that are valid as they are. */
export function checked(isValid: (value: string) => boolean, advice: string): (value: string) => string {
  return (value) => {
    if (!isValid(value)) throw new InvalidArgumentError(advice);
    return value;
  };
}

/** A parser with the name that the help gives to its values, such as `<port>`. */
export function named<P extends object>(placeholder: string, parse: P): P & { readonly placeholder: string } {
  return Object.assign(parse, { placeholder });
}

export const text = checked((value) => value !== '', 'The value must not be empty.');
/** A text that is the path of a file. */
export const file = named('file', (value: string) => text(value));

/** Parses a URL of one of these protocols, such as `https:`. The error shows the example. */
export function urlSuchAs(example: string, protocols: readonly string[] = ['https:', 'http:']) {
  const isUrl = (value: string) => protocols.includes(URL.parse(value)?.protocol ?? '');
  return named('url', checked(isUrl, `Use a URL such as ${example}.`));
}

/** A DNS subdomain (RFC 1123), such as the name of an object or a webhook. */
export const dnsName = named(
  'name',
  checked(isDnsSubdomain, "Use lower-case letters, digits, '-' and '.', such as envoy-initializer."),
);

/** A label or annotation key: an optional DNS prefix and a name of at most 63 characters. */
export const qualifiedName = named(
  'key',
  checked(
    (value) =>
      /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(value),
    'Use a label key such as initializer.kubernetes.io/envoy.',
  ),
);

/** Names of namespaces, or `*` for all of them. */
export function namespaceList(value: string): readonly string[] {
  const names = value === '' ? [] : value.split(',').map((name) => name.trim());
  if (!names.every((name) => name === '*' || isDnsLabel(name)))
    throw new InvalidArgumentError("Use a comma-separated list of namespaces, or '*'.");
  return names;
}

export function networkRanges(value: string): readonly Range[] {
  return value.split(',').map((text) => range(text.trim(), '10.0.0.0/8,fc00::/7'));
}

export function largestNetworks(value: string): RangePolicy['largest'] {
  const [, ipv4, ipv6] = /^(\d{1,2}),(\d{1,3})$/.exec(value) ?? [];
  const [four, six] = [Number(ipv4), Number(ipv6)];
  if (!(four <= 30 && six <= 126)) {
    throw new InvalidArgumentError('Use two prefix lengths, for IPv4 and for IPv6, such as 16,48.');
  }
  return { ipv4: four, ipv6: six };
}

export function rangeList(value: string): readonly string[] {
  if (value === '') return [];
  return value.split(',').map((text) => formatRange(range(text.trim(), '10.244.0.0/16,fd00::/108')));
}

function range(text: string, example: string): Range {
  const parsed = parseRange(text);
  if (parsed) return parsed;
  const meant = text.includes('/') ? readRange(text) : undefined;
  throw new InvalidArgumentError(
    meant
      ? `${text} has host bits set or is not in canonical form: use ${formatRange(meant)}.`
      : `Use comma-separated ranges such as ${example}.`,
  );
}

export function bool(value: string): boolean {
  if (value !== 'true' && value !== 'false') throw new InvalidArgumentError('Use true or false.');
  return value === 'true';
}

function numberFrom(least: number, most: number, what: string): (value: string) => number {
  return (value) => {
    const parsed = Number(value);
    if (/^\d+$/.test(value) && parsed >= least && parsed <= most) return parsed;
    throw new InvalidArgumentError(`Use a ${what} from ${least} to ${most}.`);
  };
}

export const port = named('port', numberFrom(0, 65_535, 'port'));
export const count = named('n', numberFrom(1, 1_000, 'number'));

/** Parses a duration in Go's format (`30s`, `1h30m`); returns milliseconds. */
export const duration = named('duration', (value: string): number => {
  const total = parseDuration(value);
  if (total === undefined) throw new InvalidArgumentError('Use a duration such as 30s, 5m or 1h30m.');
  return total;
});

/** kubectl's `--request-timeout`: a duration, or a number of seconds; 0 is no limit. Returns milliseconds. */
export function requestTimeout(value: string): number {
  const milliseconds = /^\d{1,6}$/.test(value) ? Number(value) * 1000 : duration(value);
  // Not undefined: commander makes an empty text of that.
  return milliseconds > 0 ? milliseconds : MAX_TIMER_MS;
}

export function oneOf<const C extends readonly string[]>(...choices: C): (value: string) => C[number] {
  return (value) => {
    const choice = choices.find((c) => c === value);
    if (choice === undefined) {
      const meant = suggest(value, choices);
      const question = meant === undefined ? '' : ` Did you mean ${meant}?`;
      throw new InvalidArgumentError(
        `Use ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}.${question}`,
      );
    }
    return choice;
  };
}

/** One flag: its parser, its default as text, and its help. Without a default, the value is undefined. */
export interface FlagSpec<T> {
  /** That of a switch has no placeholder. */
  readonly parse: ((text: string) => T) & { readonly placeholder?: string };
  readonly default?: string | (() => string);
  readonly help: string;
}

export type FlagSpecs = Readonly<Record<string, FlagSpec<unknown>>>;

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

type Parsed<S extends FlagSpec<unknown>> = S extends { readonly default: string | (() => string) }
  ? ReturnType<S['parse']>
  : ReturnType<S['parse']> | undefined;

/** The values of flags: durations in milliseconds. */
export type ParsedFlags<F extends FlagSpecs> = {
  readonly [K in keyof F & string as Camel<K>]: Parsed<F[K]>;
};
