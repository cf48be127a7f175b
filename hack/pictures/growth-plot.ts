export interface Point {
  readonly networks: number;
  readonly millisecondsEach: number;
  readonly residentMb: number;
}

const WIDTH = 640;
const HEIGHT = 300;
const MARGIN = { left: 60, right: 60, top: 24, bottom: 44 };
const MEMORY = '#0072b2';
const TIME = '#d55e00';

/** Memory and time against the number of Networks, as an SVG: two curves, one axis each. */
export function growthPlot(points: readonly Point[]): string {
  const last = points.at(-1)?.networks ?? 1;
  const memoryTop = roundUp(Math.max(...points.map(({ residentMb }) => residentMb)));
  const timeTop = roundUp(Math.max(...points.map(({ millisecondsEach }) => millisecondsEach)));
  const x = (networks: number) => MARGIN.left + (networks / last) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (part: number) => HEIGHT - MARGIN.bottom - part * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const memory = points.map((point) => [x(point.networks), y(point.residentMb / memoryTop)] as const);
  const time = points.map((point) => [x(point.networks), y(point.millisecondsEach / timeTop)] as const);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>Memory and time for one Network more, by how many there are</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${[0, 0.25, 0.5, 0.75, 1].map((part) => gridline(y(part), memoryTop * part, timeTop * part)).join('\n')}
${points.map(({ networks }) => text(x(networks), HEIGHT - MARGIN.bottom + 18, networks.toLocaleString('en'), 'middle')).join('\n')}
${text(WIDTH / 2, HEIGHT - 8, 'Networks', 'middle')}
${text(8, 14, 'resident memory, MB', 'start', MEMORY)}
${text(WIDTH - 8, 14, 'ms for one more', 'end', TIME)}
${curve(memory, MEMORY)}
${curve(time, TIME)}
</svg>
`;
}

function gridline(at: number, left: number, right: number): string {
  const line = `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${at}" y2="${at}" stroke="#ddd"/>`;
  const labels = text(MARGIN.left - 6, at + 4, short(left), 'end', MEMORY);
  return `${line}\n${labels}\n${text(WIDTH - MARGIN.right + 6, at + 4, short(right), 'start', TIME)}`;
}

function curve(points: readonly (readonly [number, number])[], colour: string): string {
  const path = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  const dots = points.map(
    ([x, y]) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${colour}"/>`,
  );
  return [`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...dots].join('\n');
}

function text(x: number, y: number, content: string, anchor: string, colour = '#333'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${colour}">${content}</text>`;
}

/** The next 1, 2, 4 or 8 with zeros, which divides well by four. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
