/** The CPU time of a review, in microseconds, by server. */
export interface ReviewCost {
  /** The reviews. */
  readonly name: string;
  readonly servers: readonly { readonly name: string; readonly microseconds: number }[];
}

const WIDTH = 640;
const LEFT = 190;
const LONGEST = 330;
const BAR = 16;
const GAP = 30;
const COLOURS = ['#0072b2', '#999999', '#d55e00'];

/** Bars of the CPU time of a review, each group relative to its longest bar, as an SVG. */
export function reviewPlot(costs: readonly ReviewCost[]): string {
  let y = 10;
  const groups = costs.map(({ name, servers }) => {
    const longest = Math.max(...servers.map(({ microseconds }) => microseconds));
    const title = text(LEFT, y + 12, name, 'start', ' font-weight="bold"');
    const bars = servers.map(({ name: server, microseconds }, i) => {
      const top = y + 20 + i * (BAR + 2);
      const length = (microseconds / longest) * LONGEST;
      const bar = `<rect x="${LEFT}" y="${top}" width="${length.toFixed(1)}" height="${BAR}" fill="${COLOURS[i]}"/>`;
      const label = text(LEFT + length + 6, top + 12, `${microseconds.toFixed(0)} µs`, 'start');
      return [text(LEFT - 8, top + 12, server, 'end'), bar, label].join('\n');
    });
    y += servers.length * (BAR + 2) + GAP;
    return [title, ...bars].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="sans-serif" font-size="12">
<title>CPU time of a review</title>
<rect width="${WIDTH}" height="${y}" fill="white"/>
${groups.join('\n')}
</svg>
`;
}

function text(x: number, y: number, content: string, anchor: string, more = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}" fill="#333"${more}>${content}</text>`;
}
