/** A read-only registry of images, for one node: see answer.ts. Arguments: the address and port, the directory of images. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { answer } from './answer.ts';

const [address, port, images = ''] = process.argv.slice(2);

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  const found = await answer(images, url);
  process.stdout.write(`${request.method} ${url.pathname}${url.search} ${found.status}\n`);
  if ('body' in found) {
    response.writeHead(found.status, { 'Content-Type': 'application/json' }).end(found.body);
    return;
  }
  const { file, contentType, digest } = found;
  response.writeHead(200, {
    'Content-Type': contentType,
    'Content-Length': (await stat(file)).size,
    'Docker-Content-Digest': digest,
  });
  if (request.method === 'HEAD') response.end();
  else await pipeline(createReadStream(file), response);
}

createServer((request, response) => {
  handle(request, response).catch((err: unknown) => {
    process.stdout.write(`${request.method} ${request.url}: ${err}\n`);
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end();
  });
}).listen(Number(port), address);
