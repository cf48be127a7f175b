import { readFile, writeFile } from 'node:fs/promises';
import { CUSTOM_KINDS } from '../src/podspec/custom-kinds.ts';
import { WORKLOAD_KINDS } from '../src/podspec/workload-kinds.ts';

/**
 * Writes the kinds of workloads into deploy/base/opt-in-mistake.yaml: its resource rules, and the expression that
 * finds the pod template. `--check` only compares, and exits 1 if they differ.
 */
const FILE = new URL('../deploy/base/opt-in-mistake.yaml', import.meta.url);
const COMMAND = 'node hack/generate-opt-in-mistake.ts';
const RULES = /(?<=^ {4}resourceRules:\n)[\s\S]*?(?=^ {2}matchConditions:)/m;
const PODS = /(?<=^ {2}- name: pods\n {4}expression: >-\n)[\s\S]*?(?=^ {2}- name: podSaysSo)/m;

/** What the policy looks at: a kind, with the paths of its pod templates. */
interface AppliedKind {
  readonly kind: string;
  readonly group: string;
  readonly versions: string;
  readonly plural: string | undefined;
  readonly paths: readonly string[];
}

const applied: readonly AppliedKind[] = [
  ...WORKLOAD_KINDS.filter(({ isApplied }) => isApplied).map(({ kind, group, plural, path }) => {
    return { kind, group, versions: 'v1', plural, paths: [path.join('.')] };
  }),
  ...CUSTOM_KINDS.map((kind) => ({ ...kind, versions: "'*'" })),
];

function resourceRules(): string {
  const groups = new Set(applied.map(({ group }) => group));
  const rules = Array.from(groups, (group) => {
    const kinds = applied.filter((each) => each.group === group);
    return `\
    - apiGroups: [${group || '""'}]
      apiVersions: [${kinds[0]?.versions}]
      operations: [CREATE, UPDATE]
      resources: [${kinds.map(({ plural }) => plural).join(', ')}]
      scope: Namespaced
`;
  });
  return rules.join('');
}

/** A list of the pod templates of an object, by its kind. Most kinds have one in `spec.template`. */
function podsExpression(): string {
  const usual = podsAt('spec.template');
  const cases = applied.flatMap(({ kind, group, paths }) => {
    const pods = paths.map(podsAt).join(' + ');
    const condition = `request.kind.group == '${group}' && request.kind.kind == '${kind}'`;
    return pods === usual ? [] : [`${condition}\n      ? ${pods}`];
  });
  return `      ${[...cases, usual].join('\n      : ')}\n`;
}

/** A list of the pod templates at a path, without those that are missing. */
function podsAt(path: string): string {
  const [before = '', after] = path.split(/(?:\[\]|\.\*)\./, 2);
  const found = `object${optional(before)}`;
  if (after === undefined) return `[?${found}]`;
  if (path.includes('[]')) return `${found}.orValue([]).map(item, item${required(after)})`;
  return `${found}.orValue({}).map(key, object${required(before)}[key]${required(after)})`;
}

const optional = (path: string) => path.replaceAll(/(?:^|\.)/g, '.?');
const required = (path: string) => `.${path}`;

async function main(args: readonly string[]): Promise<number> {
  const text = await readFile(FILE, 'utf8');
  if (!RULES.test(text) || !PODS.test(text))
    throw new Error(`expected resourceRules and a variable pods in ${FILE}`);
  const wanted = text.replace(RULES, resourceRules).replace(PODS, podsExpression);
  if (!args.includes('--check')) await writeFile(FILE, wanted);
  else if (wanted !== text) {
    console.error(
      `deploy/base/opt-in-mistake.yaml does not have the kinds of src/podspec/workload-kinds.ts: run \`${COMMAND}\` and commit the result.`,
    );
    return 1;
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
