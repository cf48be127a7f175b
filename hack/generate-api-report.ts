import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/**
 * Writes what users of the library can see to library-api.txt in a directory, by default out/: of each entry of
 * package.json's `exports` the names, and each declaration that they lead to. Two versions of it differ where the library
 * does.
 */
const PROJECT = join(import.meta.dirname, '..');

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

function reportOf(directory: string, entry: string, types: string): string {
  const file = join(directory, relative('dist', types));
  const names = [...declarationsOf(file).others.keys()];
  const seen = new Map<string, Map<string, string>>();
  for (const name of names) visit({ file, name }, seen);
  const sections = [...seen]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, declarations]) => {
      const texts = [...declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
      return `// ${relative(directory, path).replace('.d.ts', '.ts')}\n${texts.join('\n')}\n`;
    });
  return `// ${join('envoy-initializer', entry)}\nexport { ${names.toSorted().join(', ')} };\n\n${sections.join('\n')}`;
}

const { exports }: { readonly exports: Readonly<Record<string, { readonly types: string }>> } = JSON.parse(
  readFileSync(join(PROJECT, 'package.json'), 'utf8'),
);
const output = process.argv[2] ?? join(PROJECT, 'out');
const directory = mkdtempSync(join(tmpdir(), 'api-report-'));
try {
  execFileSync(
    join(PROJECT, 'node_modules/.bin/tsc'),
    [
      ...['-p', join(PROJECT, 'tsconfig.build.json'), '--emitDeclarationOnly', '--removeComments'],
      ...['--outDir', directory],
    ],
    { stdio: 'inherit' },
  );
  const reports = Object.entries(exports).map(([entry, { types }]) => reportOf(directory, entry, types));
  mkdirSync(output, { recursive: true });
  writeFileSync(join(output, 'library-api.txt'), reports.join('\n\n'));
} finally {
  rmSync(directory, { recursive: true });
}
