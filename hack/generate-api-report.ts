import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/**
 * Writes what users of the library can see, an entry of package.json's `exports` a file, to test/api: the names, and each
 * declaration that they lead to. `--check` only compares, and exits 1 where the surface has changed.
 */
const COMMAND = 'node hack/generate-api-report.ts';
const PROJECT = join(import.meta.dirname, '..');
const ENTRIES = { kube: 'kube', compat: 'kube/compat', prometheus: 'kube/prometheus', sidecar: 'injection' };

/** A name of another file. */
interface Source {
  readonly file: string;
  readonly name: string;
}

/** A declaration file: the names that come from others, and the text of its own. */
interface Declarations {
  readonly others: ReadonlyMap<string, Source>;
  readonly own: ReadonlyMap<string, string>;
}

const files = new Map<string, Declarations>();

function declarationsOf(file: string): Declarations {
  const known = files.get(file);
  if (known) return known;
  const others = new Map<string, Source>();
  const own = new Map<string, string>();
  for (const statement of readFileSync(file, 'utf8').split(/\n(?=[a-z])/)) {
    const from = /^(?:import|export)\s+(?:type\s+)?\{([^}]*)\} from '(\.[^']+)'/.exec(statement);
    const name =
      /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|const|function\*?) (\w+)/.exec(
        statement,
      )?.[1];
    for (const item of from?.[1]?.split(',').filter((each) => each.trim()) ?? []) {
      const [original = '', local = original] = item
        .trim()
        .replace(/^type /, '')
        .split(' as ');
      others.set(local, {
        file: join(dirname(file), from?.[2] ?? '').replace(/\.[jt]s$/, '.d.ts'),
        name: original,
      });
    }
    // An overloaded function has a statement for each signature.
    if (name) own.set(name, [...(own.has(name) ? [own.get(name)] : []), statement.trimEnd()].join('\n'));
  }
  files.set(file, { others, own });
  return { others, own };
}

/** Adds the declaration and all that it names to what is seen; what comes from other packages is not followed. */
function visit({ file, name }: Source, seen: Map<string, Map<string, string>>): void {
  const { others, own } = declarationsOf(file);
  const elsewhere = others.get(name);
  if (elsewhere) {
    visit(elsewhere, seen);
    return;
  }
  const text = own.get(name);
  const seenHere = seen.get(file) ?? new Map<string, string>();
  if (text === undefined || seenHere.has(name)) return;
  seen.set(file, seenHere.set(name, text));
  for (const [word] of text.matchAll(/\w+/g)) visit({ file, name: word }, seen);
}

function reportOf(directory: string, entry: string): string {
  const file = join(directory, entry, 'index.d.ts');
  const names = [...declarationsOf(file).others.keys()];
  const seen = new Map<string, Map<string, string>>();
  for (const name of names) visit({ file, name }, seen);
  const sections = [...seen]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, declarations]) => {
      const texts = [...declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
      return `// ${relative(directory, path).replace('.d.ts', '.ts')}\n${texts.join('\n')}\n`;
    });
  return `// envoy-initializer/${entry}: written by \`${COMMAND}\`\nexport { ${names.toSorted().join(', ')} };\n\n${sections.join('\n')}`;
}

function main(args: readonly string[]): number {
  const directory = mkdtempSync(join(tmpdir(), 'api-report-'));
  let code = 0;
  try {
    const options = ['--emitDeclarationOnly', '--removeComments', '--outDir', directory];
    execFileSync(
      join(PROJECT, 'node_modules/.bin/tsc'),
      ['-p', join(PROJECT, 'tsconfig.build.json'), ...options],
      { stdio: 'inherit' },
    );
    for (const [name, entry] of Object.entries(ENTRIES)) {
      const path = join('test/api', `${name}.api.txt`);
      const wanted = reportOf(directory, entry);
      if (!args.includes('--check')) writeFileSync(join(PROJECT, path), wanted);
      else if (readFileSync(join(PROJECT, path), 'utf8') !== wanted) {
        console.error(
          `${path} is not what the library exports: run \`${COMMAND}\`, and look at what changes for users.`,
        );
        code = 1;
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  return code;
}

process.exitCode = main(process.argv.slice(2));
