import { readFile, writeFile } from 'node:fs/promises';
import { WORKLOAD_KINDS } from '../src/podspec/workload-kinds.ts';

/**
 * Writes the kinds of workloads into deploy/base/opt-in-mistake.yaml: its resource rules, and the expression that
 * finds the pod template. `--check` only compares, and exits 1 if they differ.
 */
const FILE = new URL('../deploy/base/opt-in-mistake.yaml', import.meta.url);
const COMMAND = 'node hack/generate-opt-in-mistake.ts';
const RULES = /(?<=^ {4}resourceRules:\n)[\s\S]*?(?=^ {2}matchConditions:)/m;
const POD = /(?<=^ {2}- name: pod\n {4}expression: ").*(?="$)/m;

const applied = WORKLOAD_KINDS.filter(({ isApplied }) => isApplied);

function resourceRules(): string {
  const groups = new Set(applied.map(({ group }) => group));
  const rules = Array.from(groups, (group) => {
    const plurals = applied.filter((each) => each.group === group).map(({ plural }) => plural);
    return `\
    - apiGroups: [${group || '""'}]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [${plurals.join(', ')}]
      scope: Namespaced
`;
  });
  return rules.join('');
}

/** Tries the longest path first: the other kinds do not have its first keys. */
function podExpression(): string {
  const paths = new Set(applied.map(({ path }) => path.join('.')));
  const [shortest, ...others] = [...paths].toSorted((a, b) => a.length - b.length);
  return others.reduce((rest, path) => {
    const start = path.split('.').slice(0, 2).join('.');
    return `has(object.${start}) ? object.${path} : ${rest}`;
  }, `object.${shortest}`);
}

async function main(args: readonly string[]): Promise<number> {
  const text = await readFile(FILE, 'utf8');
  if (!RULES.test(text) || !POD.test(text))
    throw new Error(`expected resourceRules and a variable pod in ${FILE}`);
  const wanted = text.replace(RULES, resourceRules).replace(POD, podExpression);
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
