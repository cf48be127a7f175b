import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

// The floor: the least that a webhook in Node has to do. A bare HTTPS server that parses the review, and answers with a
// patch that it was given. A process of its own: PORT, KEY and CERT files, and one with the answer to give.
const [port, key = '', cert = '', answerFile = ''] = process.argv.slice(2);
const answer: { response: object } = JSON.parse(readFileSync(answerFile, 'utf8'));

createServer(
  { key: readFileSync(key), cert: readFileSync(cert), keepAliveTimeout: 95_000 },
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString());
      const body = JSON.stringify({ ...answer, response: { ...answer.response, uid: review.request.uid } });
      response.setHeader('Content-Type', 'application/json');
      response.end(body);
    });
  },
).listen(Number(port));
