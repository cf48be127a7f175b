import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { NEUTRON_NETWORKS, NEUTRON_SUBNETS } from '../../../src/addons/neutron/resources.ts';
import type { NetworkSpec } from '../../../src/networks/api/types.ts';
import { describeWithNeutron } from '../../support/jest/describe-with-neutron.ts';
import { atEachWrite } from '../../support/neutron/neutron-deaths.ts';
import { NeutronLab, noAuth } from '../../support/neutron/neutron-lab.ts';
import { neutronNetwork, neutronSecret } from '../../support/neutron/neutron-manifests.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(600_000);

const ARGS = ['--leader-elect=false', '--workers=4', '--resync=5s'];
const { signal } = new AbortController();

describeWithNeutron('operators of a real Neutron', (environment) => {
  let lab: NeutronLab;
  let fixture: OperatorFixture;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment);
    fixture = await startOperatorFixture({ args: ARGS });
    await fixture.apply(neutronSecret(noAuth(lab.proxy.url)));
  });
  afterAll(async () => {
    await fixture?.stop();
    await lab?.stop();
  });

  const wait = (names: readonly string[], what: string) =>
    fixture.kubectl('wait', ...names.map((name) => `network/${name}`), `--for=${what}`, '--timeout=120s');
  const edit = (name: string, spec: object) =>
    fixture.kubectl('patch', 'network', name, '--type=merge', '-p', JSON.stringify({ spec }));

  /** `NAME: CIDR GATEWAY MTU` of every network there is in Neutron; one without a subnet has dashes. */
  async function real(): Promise<readonly string[]> {
    const api = lab.direct.api();
    const subnets = await api.list(NEUTRON_SUBNETS, {}, signal);
    const networks = await api.list(NEUTRON_NETWORKS, {}, signal);
    return networks
      .map(({ id, name, mtu }) => {
        const own = subnets.filter(({ networkId }) => networkId === id);
        return `${name}: ${own.map(({ cidr, gateway }) => `${cidr} ${gateway}`).join() || '- -'} ${mtu}`;
      })
      .sort();
  }

  const atEach = (step: (name: string) => Promise<unknown>) =>
    atEachWrite(lab, fixture, (n) => step(`net-${n}`));

  const first = (name: string): NetworkSpec => {
    const base = `10.50.${name.slice('net-'.length)}`;
    return { cidr: `${base}.0/24`, gateway: `${base}.1` };
  };
  const second = (name: string): NetworkSpec => {
    const base = `10.50.${name.slice('net-'.length)}`;
    return { cidr: `${base}.0/26`, gateway: `${base}.9`, mtu: 1400 };
  };
  const line = (name: string, { cidr, gateway, mtu = 1500 }: NetworkSpec) =>
    `default/${name}: ${cidr} ${gateway} ${mtu}`;
  const named = (count: number) => Array.from({ length: count }, (_, i) => `net-${i}`);

  test('may be killed after any call of a creation, of a change and of a deletion', async () => {
    const creations = await atEach(async (name) => {
      await fixture.apply(neutronNetwork(name, first(name)));
      await wait([name], 'condition=Ready');
    });
    // The network, two tags, the subnet.
    expect(creations).toBe(4);
    const made = named(creations + 1);
    expect(await real()).toEqual(made.map((name) => line(name, first(name))));

    const changes = await atEach(async (name) => {
      await edit(name, second(name));
      await wait([name], 'jsonpath={.status.mtu}=1400');
    });
    // The MTU, the subnet that goes, and the one that comes.
    expect(changes).toBe(3);
    const changed = named(changes + 1);
    const unchanged = made.slice(changed.length);
    expect(await real()).toEqual([
      ...changed.map((name) => line(name, second(name))),
      ...unchanged.map((name) => line(name, first(name))),
    ]);

    const deletions = await atEach(async (name) => {
      await fixture.kubectl('delete', 'network', name, '--wait=false');
      await wait([name], 'delete');
    });
    expect(deletions).toBe(1);
    await fixture.kubectl('delete', 'network', '--all', '--timeout=120s');
    expect(await real()).toEqual([]);
  });
});
