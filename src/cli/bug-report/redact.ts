import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../../json/json.ts';

const REDACTED = '<redacted>';

/** Annotations that repeat whole objects. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * An object of the API without what may be secret: data of Secrets, values of environment variables, and secrets in
 * texts, such as tokens. Also without managedFields, which tell nothing.
 */
export function redactObject(object: JsonObject): JsonObject {
  const redacted = redact(object);
  if (!isObject(redacted)) return {};
  if (ownString(object, 'kind') !== 'Secret') return redacted;
  const hidden = (['data', 'stringData'] as const).flatMap((field) => {
    const data = own(object, field);
    return isObject(data)
      ? [[field, Object.fromEntries(Object.keys(data).map((key) => [key, REDACTED]))]]
      : [];
  });
  return { ...redacted, ...Object.fromEntries(hidden) };
}

function redact(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactText(value);
  if (isArray(value)) {
    return value.map((item, index) =>
      typeof item === 'string' && isSecretFlag(value[index - 1]) && !item.startsWith('-')
        ? REDACTED
        : redact(item),
    );
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value)
    .filter(([key]) => key !== 'managedFields' && key !== LAST_APPLIED)
    .map(([key, item]): [string, JsonValue] => {
      if (typeof item === 'string' && SECRET_KEY.test(key)) return [key, REDACTED];
      if (key === 'env' && isArray(item)) return [key, item.map(withoutValue)];
      return [key, redact(item)];
    });
  return Object.fromEntries(entries);
}

/** Whether the next item of a command line is secret. */
function isSecretFlag(item: JsonValue | undefined): boolean {
  return typeof item === 'string' && WHOLE_SECRET_FLAG.test(item);
}

/** An environment variable: its name, and where its value is from. */
function withoutValue(variable: JsonValue): JsonValue {
  const redacted = redact(variable);
  return isObject(redacted) && own(redacted, 'value') !== undefined
    ? { ...redacted, value: REDACTED }
    : redacted;
}

/** Names of keys whose values are secret; not `secretName` and other references. */
const SECRET_NAME =
  '[\\w.-]{0,40}(?:password|passwd|token|secret|api[-_]?key|private[-_]?key|client-key-data|authorization|credentials?)(?![\\w-]{0,40}(?:name|ref|mount))[\\w.]{0,40}';
const SECRET_KEY = new RegExp(`^${SECRET_NAME}$`, 'i');
/** A value of YAML or JSON: in quotes, in the escaped quotes of a string of JSON, or plain. */
const VALUE = String.raw`(?:\\"[^"]*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}\]"'\\{[|>][^,}\]\n]*)`;
const QUOTE = String.raw`(?:\\?["'])?`;
/** A word of a command line, in quotes or plain. */
const WORD = String.raw`(?:\\"[^"]*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',\]\\]+)`;
const SECRET_FLAG = String.raw`--[\w-]{0,40}(?:password|passwd|token|secret|api-?key)`;
const WHOLE_SECRET_FLAG = new RegExp(`^${SECRET_FLAG}$`, 'i');

/** Each finds a secret in a text; its first group stays. */
const PATTERNS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REDACTED],
  // A JSON web token.
  [/eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, REDACTED],
  [/\b((?:Bearer|Basic) +)[\w.~+/=-]{6,}/gi, `$1${REDACTED}`],
  // A user in a URL.
  [/(:\/\/)[^\s/:@"']+:[^\s/@"']+@/g, `$1${REDACTED}@`],
  // A flag of a command line, or of a list of its words.
  [
    new RegExp(`(${SECRET_FLAG}(?:[= ]|${QUOTE}(?:,\\s*|\\s+- +)))(?!["'\\\\]*-)${WORD}`, 'gi'),
    `$1${REDACTED}`,
  ],
  [
    new RegExp(`(${QUOTE}${SECRET_NAME}${QUOTE}[ \\t]*[:=][ \\t]*)(?!${REDACTED})${VALUE}`, 'gi'),
    `$1${REDACTED}`,
  ],
  // An environment variable or a header in the CEL of an admission policy, as policies/literal.ts writes it.
  [
    /(\.(?:env|httpHeaders)\{\s*(?:name: "(?:[^"\\]|\\.)*",\s*)?value: )"(?:[^"\\]|\\.)*"/g,
    `$1"${REDACTED}"`,
  ],
];

/** A text, such as a log, without the secrets that have a known form. */
export function redactText(text: string): string {
  return PATTERNS.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text);
}

const BLOCK_VALUE = /^(\s*(?:- +)*)["']?value["']?\s*:/;
const FLOW_VALUE = new RegExp(`([{,]\\s*${QUOTE}value${QUOTE}[ \\t]*:[ \\t]*)${VALUE}`, 'g');

/** The text of a template, which may be faulty, without the values of environment variables. */
export function redactTemplate(text: string): string {
  const lines: string[] = [];
  let hiddenColumn: number | undefined;
  for (const line of text.split('\n')) {
    const margin = line.search(/\S/);
    // The rest of a value on several lines.
    if (hiddenColumn !== undefined && (margin < 0 || margin > hiddenColumn)) continue;
    const start = BLOCK_VALUE.exec(line);
    hiddenColumn = start?.[1]?.length;
    lines.push(start ? `${start[0]} ${REDACTED}` : line);
  }
  return redactText(lines.join('\n').replace(FLOW_VALUE, `$1${REDACTED}`));
}

/** An object without secrets, also in the templates that are the texts of its field `data`. */
export function redactTemplates(object: JsonObject): JsonObject {
  const { data, ...rest } = object;
  if (!isObject(data)) return redactObject(object);
  const texts = Object.entries(data).map(([key, item]): [string, JsonValue] => [
    key,
    typeof item === 'string' ? redactTemplate(item) : redact(item),
  ]);
  return { ...redactObject(rest), data: Object.fromEntries(texts) };
}
