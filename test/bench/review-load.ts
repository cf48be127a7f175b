import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { connect, type TLSSocket } from 'node:tls';

// Posts reviews by turns, as fast as they are answered. A process of its own: URL, a file with a body on each line, how many
// connections, and whether each request has a new one ("fresh") or they are kept ("kept"). For each number on stdin it sends so
// many, and prints the seconds that they took, or what went wrong.
const [url = '', file = '', connections = '', how = ''] = process.argv.slice(2);
const { hostname, port, pathname, search } = new URL(url);
const head = `POST ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n`;
const requests = readFileSync(file, 'utf8')
  .split('\n')
  .map((body) =>
    Buffer.from(
      `${head}${how === 'fresh' ? 'Connection: close\r\n' : ''}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
/** No answer by then is none. */
const PATIENCE_MS = 20_000;
const kept: (TLSSocket | undefined)[] = [];
let next = 0;

for await (const line of createInterface(process.stdin)) {
  let left = Number(line);
  const start = performance.now();
  const lane = async (_: unknown, i: number) => {
    while (left-- > 0) await post(i);
  };
  try {
    await Promise.all(Array.from({ length: Number(connections) }, lane));
    process.stdout.write(`${(performance.now() - start) / 1000}\n`);
  } catch (error) {
    for (const socket of kept.splice(0)) socket?.destroy();
    process.stdout.write(`${error}\n`);
  }
}
process.exit();

/** Sends the next request on a connection; resolves with the whole answer. */
function post(lane: number): Promise<void> {
  const socket = kept[lane] ?? connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  kept[lane] = how === 'fresh' ? undefined : socket;
  return new Promise((resolve, reject) => {
    let answer = '';
    const fail = () => end(new Error(`no answer after ${answer.slice(0, 200)}`));
    const timer = setTimeout(fail, PATIENCE_MS);
    const read = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (isWhole(answer))
        end(answer.startsWith('HTTP/1.1 200') ? undefined : new Error(answer.slice(0, 200)));
    };
    const end = (error?: Error) => {
      clearTimeout(timer);
      socket.off('data', read).off('error', fail).off('close', fail);
      if (how === 'fresh') socket.on('error', () => {}).destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.on('data', read).on('error', fail).on('close', fail);
    socket.write(requests[next++ % requests.length] ?? '');
  });
}

function isWhole(answer: string): boolean {
  const body = answer.indexOf('\r\n\r\n') + 4;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, body)) ?? [];
  return (
    body > 3 &&
    (length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length - body >= Number(length))
  );
}
