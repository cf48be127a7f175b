import { expect, test } from '@jest/globals';
import { keyOf } from '../../../src/kube/api/object.ts';
import type { KnownNode } from '../../../src/networks/nodes/nodes-in-use.ts';
import { isObject, type JsonObject, type JsonValue, own } from '../../../src/util/json.ts';
import { printBlock } from '../../../src/util/yaml-edit/entries.ts';
import { GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';
import { conditionsOf, stepsOf, takeStep } from '../../support/network/golden-life.ts';
import { NetworkModel } from '../../support/network/network-model.ts';

/**
 * The life of a Network of Multus. For each step of `input.yaml`, `expected.yaml` has what the step changed: conditions,
 * Events, the CNI configuration, and what node agents read in the status. `pods` has the node of each pod, and `nodes`
 * what the agents report: nothing, or the problem of the Network.
 */
const FAMILY = 'cni';
const cases = goldenCases(FAMILY);

test.each(cases)('%s', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const steps = stepsOf(await golden.read('input.yaml'));
  const model = new NetworkModel();
  model.known = new Map();
  const seen = new Map<string, string>();
  const outcomes: JsonValue[] = [];
  for (const step of steps) {
    await takeStep(model, step, {
      pods: (pods) => {
        model.pods = Object.keys(pods ?? {}).map((pod) => `default/${pod}`);
        model.nodesOfPods = [...new Set(Object.values(pods ?? {}).map(String))];
      },
      nodes: (nodes) => {
        model.known =
          nodes === 'none'
            ? undefined
            : new Map(Object.entries(nodes ?? {}).map(([node, told]) => [node, knownNode(told)]));
      },
      'edit the plugin': (fields) => editPlugin(model, fields),
      'write a definition': (plugin) => {
        const spec = { config: JSON.stringify({ plugins: [plugin] }) };
        model.attachments.store({ metadata: { namespace: 'default', name: 'a' }, spec });
      },
    });
    await settle(model);
    outcomes.push({ after: step.name, ...onlyNew(seen, stateOf(model)) });
  }
  await golden.expect('expected.yaml', `${printBlock(outcomes, false)}\n`);
  await golden.done();
});

test('has cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(5);
});

/** Reconciles until there is nothing left to do. */
async function settle(model: NetworkModel): Promise<void> {
  for (let round = 0; round < 4; round++) expect(await model.reconcile()).toBeUndefined();
}

/** A node as its address and its agent tell it. */
function knownNode(told: JsonValue): KnownNode {
  const [address, agent, problem] = ['address', 'agent', 'problem'].map((key) => own(told, key));
  const problems = typeof problem === 'string' ? { 'default/a': problem } : {};
  const isCurrent = agent === undefined;
  return {
    internalIp: typeof address === 'string' ? address : undefined,
    report: isCurrent ? { version: 2, ranges: [], problems } : undefined,
    ...(agent !== 'none' && { reportProblem: 'its report is invalid' }),
  };
}

/** The visible state, by subject. */
function stateOf(model: NetworkModel): Readonly<Record<string, JsonValue>> {
  const definitions = [...model.attachments.live.values()].map(
    (definition) => `${keyOf(definition)} ${definition.spec?.config}`,
  );
  const { cidr, gateway, secondary, mtu, vni, nodes } = model.network?.status ?? {};
  const network = vni === undefined ? {} : { cidr, gateway, secondary, mtu, vni, nodes };
  const events = model.events.splice(0);
  return { ...conditionsOf(model), events, definitions, network: JSON.stringify(network) };
}

/** The Events of the step, and the entries of the state that changed since the last step. */
function onlyNew(seen: Map<string, string>, state: Readonly<Record<string, JsonValue>>): JsonObject {
  return Object.fromEntries(
    Object.entries(state).filter(([name, value]) => {
      const text = JSON.stringify(value);
      if (name === 'events') return text !== '[]';
      const before = seen.get(name) ?? '[]';
      seen.set(name, text);
      return text !== before;
    }),
  );
}

/** Another client edits the definition. */
function editPlugin({ attachments }: NetworkModel, fields: JsonValue): void {
  for (const definition of attachments.live.values()) {
    const config: JsonObject = JSON.parse(definition.spec?.config ?? '{}');
    const [plugin] = [config.plugins].flat();
    const plugins = [{ ...(isObject(plugin) && plugin), ...(isObject(fields) && fields) }];
    attachments.store({ ...definition, spec: { config: JSON.stringify({ ...config, plugins }) } });
  }
}
