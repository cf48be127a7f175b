import { expect, test } from '@jest/globals';
import { isObject, type JsonObject, type JsonValue } from '../../../src/json/json.ts';
import { printBlock } from '../../../src/json/yaml-edit/print.ts';
import { keyOf } from '../../../src/kube/api/object.ts';
import { GoldenCase, goldenCases } from '../../support/golden-case.ts';
import { conditionLines, stepsOf, takeStep } from '../../support/golden-life.ts';
import { ModelMesh } from '../../support/model-mesh.ts';
import { NetworkModel } from '../../support/network-model.ts';

/**
 * The life of a Network of Multus. For each step of `input.yaml`, `expected.yaml` has what the step changed: conditions,
 * Events, the CNI configuration, the commands of the node agents, and the addresses that each node gives out. Node
 * agents join the nodes from the step `nodes` on.
 */
const FAMILY = 'cni';
const cases = goldenCases(FAMILY);

test.each(cases)('%s', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const steps = stepsOf(await golden.read('input.yaml'));
  const mesh = new ModelMesh();
  const model = new NetworkModel();
  const seen = new Map<string, string>();
  let nodes: readonly string[] = [];
  const outcomes: JsonValue[] = [];
  for (const step of steps) {
    await takeStep(model, step, {
      pods: (names) => {
        model.pods = [names].flat().map((pod) => `default/${pod}`);
      },
      nodes: async (addresses) => {
        if (nodes.length === 0) model.restartJoined(mesh.coverage);
        nodes = Object.keys(addresses ?? {});
        await mesh.setNodes(addresses as Readonly<Record<string, readonly string[]>>);
      },
      'edit the plugin': (fields) => editPlugin(model, fields),
      'write a definition': (plugin) => {
        const spec = { config: JSON.stringify({ plugins: [plugin] }) };
        model.attachments.store({ metadata: { namespace: 'default', name: 'a' }, spec });
      },
    });
    // The operator, then the agents, then the operator on what they report.
    await settle(model);
    await mesh.round(model.network ? [model.network] : []);
    await settle(model);
    outcomes.push({ after: step.name, ...onlyNew(seen, await stateOf(model, mesh, nodes)) });
  }
  await mesh.close();
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

/** The visible state, by subject. */
async function stateOf(
  model: NetworkModel,
  mesh: ModelMesh,
  nodes: readonly string[],
): Promise<Readonly<Record<string, JsonValue>>> {
  const definitions = [...model.attachments.live.values()].map((definition) => ({
    name: keyOf(definition),
    config: JSON.parse(definition.spec?.config ?? '{}'),
  }));
  const agents: Record<string, JsonValue> = {};
  for (const node of nodes) {
    agents[`commands on ${node}`] = mesh.commands(node);
    agents[`addresses of ${node}`] = Object.values(await mesh.slices(node)).flat();
  }
  const events = model.events.splice(0);
  return { conditions: conditionLines(model), events, definitions, ...agents };
}

/** The Events and commands of the step, and the entries of the state that changed since the last step. */
function onlyNew(seen: Map<string, string>, state: Readonly<Record<string, JsonValue>>): JsonObject {
  return Object.fromEntries(
    Object.entries(state).filter(([name, value]) => {
      const text = JSON.stringify(value);
      if (name === 'events' || name.startsWith('commands')) return text !== '[]';
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
