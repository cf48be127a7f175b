import { describe, expect, test } from '@jest/globals';
import { OpenStackHttp } from '../../../../../src/addons/neutron/openstack/http.ts';
import { SilentServer } from '../../../../support/kube/silent-server.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

describe('a request to OpenStack', () => {
  test('ends with its signal while the handshake hangs', async () => {
    const silent = await SilentServer.start();
    const http = new OpenStackHttp({ clock: new FakeClock() });
    const controller = new AbortController();
    const url = new URL(`https://127.0.0.1:${silent.port}/v2.0/networks`);
    const sent = http.send({ method: 'POST', url, signal: controller.signal });
    await silent.connected;
    controller.abort(new Error('the term is over'));
    await expect(sent).rejects.toThrow('the term is over');
    expect(silent.openConnections).toBe(1);
    await http.close();
    await silent.close();
  });

  test('is not sent if guard throws', async () => {
    const signals: AbortSignal[] = [];
    const http = new OpenStackHttp({
      clock: new FakeClock(),
      guard(signal) {
        signals.push(signal);
        throw new Error('this process does not lead');
      },
    });
    const { signal } = new AbortController();
    const sent = http.send({ method: 'POST', url: new URL('http://127.0.0.1:1/'), signal });
    await expect(sent).rejects.toThrow('this process does not lead');
    expect(signals).toEqual([signal]);
    await http.close();
  });
});
