import type { JsonValue } from '../../util/json.ts';

export const REDACTED = '<redacted>';

/** Names whose values are secret: these words anywhere in them, or one of the short ones at their end. */
const NAME = String.raw`(?:[\w./-]{0,200}(?:passw(?:or)?d|passphrase|token|secret|credential|authorization|cookie|(?:api|private|access|account|encryption|signing|master)[-_]?key|client-key-data|jwt|passcode|creds|inline[-_]?(?:string|bytes))[\w./-]{0,40}|(?:[\w.-]{0,80}[-_./])?(?:auth|pass|pwd|pw|bearer|sig|signature|session|sid|jsessionid)|[\w.-]{0,80}[-_.]key)`;
const WHOLE_NAME = new RegExp(`^${NAME}$`, 'i');
/** Names of what only refers to a secret. */
const REFERENCE = /(?:name|ref|mount|file|path|url|policy|seconds?|count)[\w]{0,2}$/i;

/** Whether the value of this name is secret; not `secretName` and other references. */
export function isCredential(name: string): boolean {
  return WHOLE_NAME.test(name) && !REFERENCE.test(name);
}

/** A value of YAML or JSON: in quotes, in the escaped quotes of a string of JSON, or plain. */
const QUOTED = String.raw`\\"[^"]*\\"|"(?:[^"\\]|\\.)*"|'[^']*'`;
const VALUE = String.raw`(?:${QUOTED}|[^\s,}\]"'\\{[|>][^,}\]\n]*)`;
const QUOTE = String.raw`(?:\\?["'])?`;
/** A word of a command line, in quotes or plain. */
const WORD = String.raw`(?:${QUOTED}|[^\s"',\]\\]+)`;
const FLAG = String.raw`(?:-[fikLosSv]{0,8}[uH]|--user|--?[\w-]{0,40}header|--?(${NAME}))`;
const WHOLE_FLAG = new RegExp(`^${FLAG}$`, 'i');

/** Whether the next word of a command line is secret. */
export function isFlagOfSecret(word: JsonValue | undefined): boolean {
  return typeof word === 'string' && WHOLE_FLAG.test(word) && !REFERENCE.test(word);
}

/** Where the secret of a word of a command line starts, such as that of `--header=a: b`; -1 without one. */
export function secretInWord(word: string): number {
  if (/^-[Hu][\w-]+:/.test(word)) return 2;
  const end = word.search(/[= ]/);
  return end > 0 && isFlagOfSecret(word.slice(0, end)) ? end + 1 : -1;
}

/** What Kubernetes itself asks for, which is no secret. */
const QUERY_OF_API = String.raw`limit|watch|timeout|\w*Seconds|resourceVersion\w*|\w+Selector|dryRun|fieldManager|force|\w+Bookmarks|sendInitialEvents|verbose|container|previous|tailLines|limitBytes|timestamps|ports`;

/** Each finds a secret in a text. Its first group stays; the second is the name of the value. */
const PATTERNS: readonly RegExp[] = [
  /()-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  // A JSON web token, and those of some services.
  /()(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
  /()\b(?:A[KS]IA[A-Z0-9]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|[rs]k_live_\w{10,}|AIza[\w-]{35}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}|hvs\.[\w-]{20,})/g,
  /\b((?:Bearer|Basic) +)[\w.~+/=-]{6,}/gi,
  // A user in a URL, and the values of its query; no digest of an image.
  /(:\/\/)(?:[^\s/@"'?#:]{0,200}:[^\s"']{1,200}|[^\s/@"'?#]{1,200})(?=@(?!sha256:))/g,
  /((?<![\w.-])[\w.-]{1,64}:)[^\s@"']{1,200}(?=@(?:tcp|unix)\()/g,
  new RegExp(String.raw`([?&](?!(?:${QUERY_OF_API})=)[\w.~%[\]-]+=)[^&\s"'#\\]+`, 'g'),
  // A flag of a command line, or of a list of its words.
  new RegExp(String.raw`((?<=")${FLAG}[= ])[^"\n]+`, 'gi'),
  new RegExp(String.raw`((?<=')${FLAG}[= ])[^'\n]+`, 'gi'),
  /((?<![\w-])-[Hu]["']?)(?=[\w-]+:)[^"'\n]+/g,
  new RegExp(
    String.raw`((?<![\w-])${FLAG}(?:[= ]|${QUOTE}(?:,\s*|\s+- +)))(?!["'\\]*(?:-|${REDACTED}))${WORD}`,
    'gi',
  ),
  new RegExp(
    String.raw`(?<![\w./-])(${QUOTE}(${NAME})${QUOTE}[ \t]*[:=][ \t]*)(?!${REDACTED}|(?:true|false|null|Object)\b)${VALUE}`,
    'gi',
  ),
  // Lines of YAML in a string of JSON or CEL.
  new RegExp(String.raw`(?<![\w./-])((${NAME}): *[|>][-+]?)(?:\\n +[^\\"\n]*)+`, 'gi'),
  /(\\n *(?:- +)*value: +)(?!Object\b)[^\\"\n]+/g,
  // The value of a pair, such as a header of JSON or an environment variable in CEL (policies/literal.ts).
  new RegExp(String.raw`(\bvalue${QUOTE}\s*[:=]\s*)(?:${QUOTED})`, 'gi'),
  new RegExp(
    String.raw`(\b(?:name|key)${QUOTE}\s*[:=]\s*(?:${QUOTED}|[\w.-]+)[,;]?\s+value[:=]\s*)(?!Object\b)${VALUE}`,
    'gi',
  ),
];

/** A text, such as a log, without the secrets that have a known form. */
export function redactText(text: string): string {
  const hide = (all: string, start: string, name: unknown) =>
    start +
    (typeof name === 'string' && REFERENCE.test(name) ? redactText(all.slice(start.length)) : REDACTED);
  return PATTERNS.reduce((rest, pattern) => rest.replace(pattern, hide), text);
}

const BLOCK_VALUE = new RegExp(String.raw`^(\s*(?:- +)*)(["']?(value|${NAME})["']?\s*:)(?=\s|$)\s*(.*)`, 'i');
/** The start of a value that is no text: empty, a map or a list, a word of YAML, or an object of CEL. */
const NO_TEXT = /^(?:[[{]|Object\b|(?:(?:true|false|null)\s*)?(?:#|$))/;
/** An object of a policy: its values are hidden one by one. */
const CEL = /^(?:Object\.[\w.]+\{|variables\.)/;
/** A line of a map or a list. */
const ITEM = /^\s*(?:- |[^\s:]+:(?:\s|$))/;
const FLOW_VALUE = new RegExp(
  `([{,]\\s*${QUOTE}value${QUOTE}[ \\t]*:[ \\t]*)(?!Object\\.|variables\\.)${VALUE}`,
  'g',
);

/** A text of YAML, such as a template, which may be faulty, without the values of environment variables and credentials, too. */
export function redactValues(text: string): string {
  const lines: string[] = [];
  let hiddenColumn: number | undefined;
  const all = text.split('\n');
  for (const [index, line] of all.entries()) {
    const margin = line.search(/\S/);
    // The rest of a value on several lines.
    if (hiddenColumn !== undefined && (margin < 0 || margin > hiddenColumn)) continue;
    const [, indent = '', key = '', name = '', value = ''] = BLOCK_VALUE.exec(line) ?? [];
    const next = all[index + 1] ?? '';
    const isText =
      !NO_TEXT.test(value) || (value === '' && next.search(/\S/) > indent.length && !ITEM.test(next));
    const isSecret = name === 'value' ? !CEL.test(value) : isCredential(name) && isText;
    hiddenColumn = isSecret ? indent.length : undefined;
    lines.push(isSecret ? `${indent}${key} ${REDACTED}` : line);
  }
  return redactText(lines.join('\n').replace(FLOW_VALUE, `$1${REDACTED}`));
}
