import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

/** A document of the project. */
export interface Document {
  /** From the project's root, such as `docs/cli.md`. */
  readonly path: string;
  readonly text: string;
}

/** Those at the top, all under docs/, and those beside the examples and the tests. */
export function documents(): readonly Document[] {
  const paths = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...globSync(['deploy/**/*.md', 'docs/**/*.md', 'test/**/*.md'], { cwd: projectDirectory() }).toSorted(),
  ];
  return paths.map((path) => ({ path, text: readFileSync(join(projectDirectory(), path), 'utf8') }));
}

/** What a section says: from its heading to the next of any level. In code a line may begin with a #, too. */
export function section(text: string, heading: string): string {
  const lines = text.split('\n');
  const from = lines.indexOf(heading) + 1;
  if (from === 0) throw new Error(`expected a heading ${heading}`);
  let inCode = false;
  const length = lines.slice(from).findIndex((line) => {
    if (line.startsWith('```')) inCode = !inCode;
    return !inCode && /^#+ /.test(line);
  });
  return lines.slice(from, length < 0 ? undefined : from + length).join('\n');
}

/** The text without its code blocks. */
export function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The anchors of a text's headings, as GitHub makes them. */
export function anchors(text: string): readonly string[] {
  return [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** A command that a document tells its reader to type, with what it says that is printed. */
export interface PrintedCommand {
  readonly command: string;
  readonly output: readonly string[];
}

/**
 * The commands of a text's `console` blocks: lines that begin with `$`, each with the output below it; all lines of a
 * block without any. A line that ends with a backslash goes on in the next; comments at the end are left out.
 */
export function commandsOf(text: string): readonly PrintedCommand[] {
  return [...text.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) => {
    const lines = block.replaceAll('\\\n', ' ').trimEnd().split('\n');
    const isSession = lines.some((line) => line.startsWith('$ '));
    if (!isSession)
      return lines.filter(Boolean).map((line) => ({ command: withoutComment(line), output: [] }));
    const commands: { command: string; output: string[] }[] = [];
    for (const line of lines) {
      if (line.startsWith('$ ')) commands.push({ command: withoutComment(line.slice(2)), output: [] });
      else commands.at(-1)?.output.push(line);
    }
    return commands;
  });
}

function withoutComment(line: string): string {
  return line.replace(/\s+# .*$/, '').trim();
}
