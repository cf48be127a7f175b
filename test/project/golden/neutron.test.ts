import { expect, test } from '@jest/globals';
import { NeutronClient } from '../../../src/addons/neutron/client.ts';
import { isObject, type JsonValue } from '../../../src/util/json.ts';
import { GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';
import { conditionsOf, stepsOf, takeStep } from '../../support/network/golden-life.ts';
import { NetworkModel } from '../../support/network/network-model.ts';
import type { FakeNeutron } from '../../support/neutron/fake-neutron.ts';
import { FakeOpenStackSession } from '../../support/neutron/fake-openstack-session.ts';

/**
 * The life of a Network of Neutron: for each step of `input.yaml`, `expected.txt` has the requests of each reconcile,
 * until one writes nothing or the same again, and then the conditions that changed, and the Events.
 */
const FAMILY = 'neutron';
const cases = goldenCases(FAMILY);
const MOST_RECONCILES = 6;

test.each(cases)('%s', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const sessions: FakeOpenStackSession[] = [];
  const model = new NetworkModel({
    neutronApi: (fake) => {
      const session = new FakeOpenStackSession(fake);
      sessions.push(session);
      return new NeutronClient(session);
    },
  });
  const requests = () => sessions.flatMap((session) => session.requests.splice(0));
  const lines: string[] = [];
  const seen = new Map<string, string>();
  for (const step of stepsOf(await golden.read('input.yaml'))) {
    lines.push(`# ${step.name}`);
    await takeStep(model, step, {
      'edit the network': (fields) => edit(model.neutron.networks, fields),
      'edit the subnet': (fields) => edit(model.neutron.subnets, fields),
      'plug a port': (fields) => plugPort(model.neutron, fields),
      'unplug the ports': () => model.neutron.ports.clear(),
    });
    for (let round = 0, previous = ''; round < MOST_RECONCILES; round++) {
      const error = await model.reconcile();
      const made = requests();
      if (made.join() === previous) break;
      previous = made.join();
      if (made.every((request) => request.startsWith('GET '))) break;
      lines.push(...made, ...(error === undefined ? [] : [`failed: ${error}`]), '');
    }
    const conditions = Object.entries(conditionsOf(model)).filter(([type, said]) => seen.get(type) !== said);
    for (const [type, said] of conditions) seen.set(type, said);
    lines.push(
      ...conditions.map(([type, said]) => `${type}=${said}`),
      ...model.events.splice(0).map((event) => `Event ${event}`),
      '',
    );
  }
  await golden.expect(
    'expected.txt',
    `${lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trimEnd()}\n`,
  );
  await golden.done();
});

test('has cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(5);
});

/** Another client edits the items. */
function edit<T extends { readonly revision: number | undefined }>(
  items: Map<string, T>,
  fields: JsonValue,
): void {
  for (const [id, item] of items) {
    items.set(id, { ...item, ...(isObject(fields) && fields), revision: (item.revision ?? 0) + 1 });
  }
}

function plugPort(neutron: FakeNeutron, fields: JsonValue): void {
  for (const id of neutron.networks.keys()) neutron.addPort(id, { ...(isObject(fields) && fields) });
}
