/** Longer lines are cut. */
const COLUMNS = 104;
/** The most lines of output to show for one command. */
const OUTPUT_LINES = 7;
const CELL = { width: 7.8, height: 18 };
const MARGIN = 16;
/** The narrator's SGR codes, and their styles. */
const STYLES: Readonly<Record<string, string>> = {
  1: 'font-weight="bold" fill="#ffffff"',
  31: 'fill="#ff7b72"',
  32: 'fill="#7ee787"',
  36: 'fill="#79c0ff"',
};
const ESCAPE = '\u001b';

/** Draws the coloured output of a program as an SVG. Shows only the named chapters, which begin with ▸. */
export function terminalPicture(printed: string, chapters: readonly string[]): string {
  const lines = chapters.flatMap((title) => shortened(chapter(printed, title)));
  const width = COLUMNS * CELL.width + 2 * MARGIN;
  const height = lines.length * CELL.height + 2 * MARGIN;
  const rows = lines.map((line, i) => row(line, MARGIN + (i + 0.75) * CELL.height));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width.toFixed(0)} ${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">
<title>What the demo prints</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`;
}

/** The lines of a chapter, from its heading on. */
function chapter(printed: string, title: string): readonly string[] {
  const found = printed.split(/\n(?=\S*▸)/).find((each) => plain(each).startsWith(`▸ ${title}\n`));
  if (found === undefined) throw new Error(`expected a chapter ▸ ${title}, got none`);
  return [...found.trimEnd().split('\n'), ''];
}

/** Shortens the output of commands. Lines in colour are the narrator's, and stay. */
function shortened(lines: readonly string[]): readonly string[] {
  let printed = 0;
  return lines.flatMap((line) => {
    printed = line.includes(ESCAPE) || line === '' ? 0 : printed + 1;
    if (printed <= OUTPUT_LINES) return [line];
    return printed === OUTPUT_LINES + 1 ? ['  …'] : [];
  });
}

function row(line: string, y: number): string {
  const spans = cut(line)
    .split(ESCAPE)
    .map((part, i) => {
      const [, code = '', text = part] = i === 0 ? [] : (/^\[(\d+)m(.*)$/.exec(part) ?? []);
      const style = STYLES[code];
      return style ? `<tspan ${style}>${escaped(text)}</tspan>` : escaped(text);
    });
  return `<text x="${MARGIN}" y="${y.toFixed(1)}" fill="#c9d1d9" xml:space="preserve">${spans.join('')}</text>`;
}

/** Cuts a long line, and keeps its first colour. Colours take no columns. */
function cut(line: string): string {
  const text = plain(line);
  if (text.length <= COLUMNS) return line;
  const [indent = '', color = ''] = /^( *)(\S\[\d+m)?/.exec(line)?.slice(1) ?? [];
  return `${indent}${color}${text.slice(indent.length, COLUMNS - 1)}…`;
}

function plain(text: string): string {
  return text.replaceAll(new RegExp(`${ESCAPE}\\[\\d+m`, 'g'), '');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
