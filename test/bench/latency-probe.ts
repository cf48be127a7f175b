import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';

// Posts a file so many times a second until its stdin ends, then prints the 99th percentile of the latency in
// milliseconds. Each is counted from when it was due, so that a server that stands still for a while is not spared the
// requests that would have come meanwhile; those not answered by the end count too. What was due in the first second
// does not: it has the handshakes, and V8 has not compiled this probe yet. Prints a line when it begins to count. A
// process of its own: URL, file, requests a second.
const [url = '', file = '', rate = ''] = process.argv.slice(2);
const WARM_UP_MS = 1_000;
const body = readFileSync(file);
const headers = { 'content-type': 'application/json', 'content-length': body.length };
// As many connections as the API server has to a webhook under load; what comes meanwhile waits for one.
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 16 });
const latencies: number[] = [];
const waiting = new Set<number>();
let failed = 0;

const start = performance.now();
const from = start + WARM_UP_MS;
let sent = 0;
const timer = setInterval(() => {
  for (; sent < ((performance.now() - start) / 1000) * Number(rate); sent++)
    post(start + (sent * 1000) / Number(rate));
}, 1);
setTimeout(() => process.stdout.write('counting\n'), WARM_UP_MS);

process.stdin.resume().on('end', () => {
  clearInterval(timer);
  for (const due of waiting) count(due);
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)];
  // What is under way is not waited for.
  process.stdout.write(`${JSON.stringify({ p99, count: latencies.length, failed })}\n`, () => process.exit());
});

function post(due: number): void {
  waiting.add(due);
  const ended = (worked: boolean) => {
    if (!waiting.delete(due)) return;
    if (worked) count(due);
    else failed++;
  };
  const sending = request(url, { method: 'POST', agent, headers }, (response) => {
    response.resume().on('end', () => ended(response.statusCode === 200));
  });
  sending.on('error', () => ended(false));
  sending.end(body);
}

function count(due: number): void {
  if (due >= from) latencies.push(performance.now() - due);
}
