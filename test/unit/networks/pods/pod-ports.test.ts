import { expect, test } from '@jest/globals';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { PortFiller } from '../../../../src/networks/pods/pod-ports.ts';
import type { PortRefusal } from '../../../../src/networks/providers/pod-ports.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

const { signal } = new AbortController();
const POD = { metadata: { namespace: 'red', name: 'p', uid: 'u' } };

/** Networks `red/blue` and `green/blue` have ports, with this answer. */
function filler(answer: { readonly options: JsonObject } | PortRefusal) {
  const asked: JsonObject[] = [];
  const ports = new PortFiller({
    access: new NetworkAccess([]),
    portsOf(key) {
      if (!key.endsWith('/blue')) return undefined;
      const network = { metadata: { name: 'blue' }, spec: { cidr: '10.0.0.0/24', gateway: '10.0.0.1' } };
      return {
        network,
        ports: {
          attach: async (_pod, _network, element) => {
            asked.push(element);
            return answer;
          },
        },
      };
    },
  });
  return { asked, fill: (text: string) => ports.fill(POD, text, signal), ports };
}

const MADE = { options: { ips: ['10.0.0.2/24'], mac: 'fa:16:3e:00:00:01' } };

test('fill adds the options of ports, and leaves other networks as they are', async () => {
  const { fill, asked } = filler(MADE);
  const { text } = (await fill('[{"name": "grey", "x": 1}, {"name": "blue", "interface": "nw0"}]')) as {
    text: string;
  };
  expect(JSON.parse(text)).toEqual([
    { name: 'grey', x: 1 },
    { name: 'blue', interface: 'nw0', ...MADE.options },
  ]);
  expect(asked).toEqual([{ name: 'blue', interface: 'nw0' }]);
  expect(await fill('grey')).toEqual({ text: 'grey' });
});

test('fill makes no port on a Network that the pod may not use', async () => {
  const { fill, asked } = filler(MADE);
  expect(await fill('green/blue')).toEqual({ text: 'green/blue' });
  expect(asked).toEqual([]);
});

test('fill passes a refusal on, and refuses a Network that is named twice', async () => {
  const refusal = { reason: 'PortRefused', why: 'no', retryAfterMs: 1 } as const;
  expect(await filler(refusal).fill('blue')).toEqual(refusal);
  expect(await filler(MADE).fill('blue,blue@net2')).toMatchObject({ reason: 'InvalidNetworkAnnotation' });
});

test('serves tells which Networks have ports', () => {
  const { ports } = filler(MADE);
  expect([ports.serves('red/blue'), ports.serves('red/grey')]).toEqual([true, false]);
});
