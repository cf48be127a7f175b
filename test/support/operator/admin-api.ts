import { KubeConfig } from '@kubernetes/client-node';
import type { JsonObject } from '../../../src/util/json.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { HttpsClient } from '../kube/https-client.ts';

/** What the API server answers. */
export interface Admission {
  readonly code: number;
  /** Why it was refused; empty where it was not. */
  readonly message: string;
  /** As it would be stored, or is. */
  readonly pod: JsonObject;
  /** What kubectl would print. */
  readonly warnings: readonly string[];
  /** All of it, with numbers that JavaScript cannot hold. */
  readonly text: string;
}

/** Requests of the cluster's administrator, each without a program of its own. */
export class AdminApi {
  readonly #client: HttpsClient;
  readonly #credentials: { readonly cert: string; readonly key: string };

  constructor({ kubeconfigPath, server, caPem }: ControlPlane) {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigPath);
    const user = config.getCurrentUser();
    const pem = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString();
    this.#credentials = { cert: pem(user?.certData), key: pem(user?.keyData) };
    this.#client = new HttpsClient(Number(new URL(server).port), caPem);
  }

  disconnect(): void {
    this.#client.disconnect();
  }

  /** The object at the path. @throws with why there is none. */
  async get(path: string): Promise<JsonObject> {
    const { message, pod } = await this.call('GET', path);
    if (message !== '') throw new Error(message);
    return pod;
  }

  async call(method: string, path: string, body?: unknown, type = 'application/json'): Promise<Admission> {
    const headers = { 'content-type': type };
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const answer = await this.#client.call(path, text, { ...this.#credentials, method, headers });
    const object = JSON.parse(answer.body);
    const refused = answer.status >= 400;
    return {
      code: answer.status,
      message: refused ? object.message : '',
      pod: refused ? {} : object,
      // In UTF-8, which Node takes for Latin-1.
      warnings: warningsIn(Buffer.from(String(answer.headers.warning ?? ''), 'latin1').toString()),
      text: answer.body,
    };
  }
}

/** RFC 7234, section 5.5, as the API server writes them: `299 - "text"`. */
function warningsIn(header: string): readonly string[] {
  return [...header.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );
}
