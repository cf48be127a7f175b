import { expect, test } from '@jest/globals';
import { NeutronClient } from '../../../src/addons/neutron/client.ts';
import type { NetworkSpec } from '../../../src/networks/api/types.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import { parseYaml } from '../../../src/util/yaml.ts';
import { GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';
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
  const actions: Readonly<Record<string, (value: JsonValue) => void>> = {
    create: (spec) => model.create(spec as JsonObject & NetworkSpec),
    change: (spec) => model.edit(spec as Partial<NetworkSpec>),
    delete: () => model.delete(),
    wreck: () => model.wreck(),
    'edit the network': (fields) => edit(model.neutron.networks, fields),
    'edit the subnet': (fields) => edit(model.neutron.subnets, fields),
    'plug a port': (fields) => plugPort(model.neutron, fields),
    'unplug the ports': () => model.neutron.ports.clear(),
  };
  for (const step of stepsOf(await golden.read('input.yaml'))) {
    lines.push(`# ${step.name}`);
    const action = actions[step.name];
    if (!action) throw new Error(`expected one of ${Object.keys(actions).join(', ')}, got ${step.name}`);
    action(step.value);
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
  expect(cases.length).toBeGreaterThanOrEqual(3);
});

/** The steps of a golden case: a list in YAML, whose items have one key each. */
function stepsOf(text: string): readonly { readonly name: string; readonly value: JsonValue }[] {
  const parsed = parseYaml(text);
  if ('error' in parsed) throw new Error(parsed.error);
  if (!isArray(parsed.value)) throw new Error('expected a list of steps');
  return parsed.value.map((step) => {
    const [entry, ...others] = isObject(step) ? Object.entries(step) : [];
    if (!entry || others.length > 0) throw new Error('expected a step with one key');
    return { name: entry[0], value: entry[1] };
  });
}

/** The conditions of the Network's status, by their types. */
function conditionsOf({ network }: NetworkModel): Readonly<Record<string, string>> {
  const conditions = network?.status?.conditions ?? [];
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
  );
}

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
