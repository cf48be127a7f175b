import type { JsonValue } from '../../util/json.ts';

/** Powers of ten and of two by suffix (k8s.io/apimachinery/pkg/api/resource, suffix.go). */
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

const PATTERN = /^([+-]?)([0-9]+)?(?:\.([0-9]*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$/;

/**
 * A Kubernetes quantity (`100m`, `512Mi`, `1e3`, 0.5) in thousand-millionths of its unit, rounded up as
 * the API server does. Undefined if the value is not a quantity.
 */
export function parseQuantity(value: JsonValue | undefined): bigint | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const [, sign, whole = '', fraction = '', suffix = ''] = PATTERN.exec(String(value)) ?? [];
  if (sign === undefined || whole + fraction === '' || whole.length + fraction.length > 64) return undefined;
  const exponent = DECIMAL[suffix] ?? (suffix in BINARY ? 0 : Number(suffix.slice(1)));
  const binary = 1n << BigInt(BINARY[suffix] ?? 0);
  const power = exponent + 9 - fraction.length;
  const size = BigInt(whole + fraction) * binary * 10n ** BigInt(Math.max(0, power));
  const divisor = 10n ** BigInt(Math.max(0, -power));
  const rounded = (size + divisor - 1n) / divisor;
  return sign === '-' ? -rounded : rounded;
}

/** An amount of `parseQuantity` as text, with suffixes of two if the example has one, else of ten. */
export function formatQuantity(amount: bigint, example: JsonValue | undefined): string {
  const [unit, kibi] = [10n ** 9n, 1024n * 10n ** 9n];
  if (String(example).endsWith('i') && amount % kibi === 0n) return `${amount / kibi}Ki`;
  if (amount % unit === 0n) return String(amount / unit);
  return amount % 10n ** 6n === 0n ? `${amount / 10n ** 6n}m` : `${amount}n`;
}
