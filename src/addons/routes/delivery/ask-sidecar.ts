import { get } from 'node:http';
import { READINESS_PORT } from '../../../injection/envoy/files.ts';

const TIMEOUT_MS = 1000;
const MAX_LENGTH = 100;

/** Asks the sidecar at an address which version of the routes it runs; undefined if it does not say. */
export function askSidecar(address: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const options = { host: address, port: READINESS_PORT, path: '/routes', agent: false, signal: limited };
    const request = get(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (text.length > MAX_LENGTH) request.destroy();
      });
      const isVersion = () => response.statusCode === 200 && text.length <= MAX_LENGTH;
      response.on('end', () => resolve(isVersion() ? text : undefined));
      response.on('close', () => resolve(undefined));
      response.on('error', () => resolve(undefined));
    });
    request.on('error', () => resolve(undefined));
  });
}
