import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import express from 'express';
import jsonpatch from 'fast-json-patch';

// The peer: the webhook that is quickly written with Express, which decides nothing. It parses the review, applies a patch
// that it was given, and answers with it. A process of its own, started like the floor.
const [port, key = '', cert = '', answerFile = ''] = process.argv.slice(2);
const answer: { response: { patch: string } } = JSON.parse(readFileSync(answerFile, 'utf8'));
const patch = JSON.parse(Buffer.from(answer.response.patch, 'base64').toString());

const app = express();
app.use(express.json({ limit: '7mb' }));
app.post('/', (request, response) => {
  const { uid, object } = request.body.request;
  jsonpatch.applyPatch(object, patch);
  const encoded = Buffer.from(JSON.stringify(patch)).toString('base64');
  response.json({ ...answer, response: { ...answer.response, uid, patch: encoded } });
});
createServer({ key: readFileSync(key), cert: readFileSync(cert), keepAliveTimeout: 95_000 }, app).listen(
  Number(port),
);
