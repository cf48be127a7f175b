import { randomUUID } from 'node:crypto';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Operation } from 'fast-json-patch';
import type { Stage } from './stage.ts';

/** Sends the webhook a review of a new pod, as the API server does. Returns its patch, empty without one. */
export async function admit({ webhookUrl, caPem }: Stage, pod: unknown): Promise<readonly Operation[]> {
  const review = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: randomUUID(),
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      operation: 'CREATE',
      namespace: 'default',
      dryRun: true,
      object: pod,
    },
  };
  const answer = JSON.parse(await post(`${webhookUrl}/inject`, caPem, JSON.stringify(review)));
  const { patch } = answer.response;
  return patch === undefined ? [] : JSON.parse(Buffer.from(patch, 'base64').toString());
}

function post(url: string, ca: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: 'POST', ca, headers: { 'Content-Type': 'application/json' } });
    call.on('error', reject);
    call.on('response', (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`expected 200 from the webhook, got ${response.statusCode}: ${answer}`));
      }, reject);
    });
    call.end(body);
  });
}
