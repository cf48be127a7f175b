import type { NetworkSpec } from '../../../src/networks/api/types.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import { parseYaml } from '../../../src/util/yaml.ts';
import type { NetworkModel } from './network-model.ts';

/** One thing that happens in the life of a Network: its name, and what goes with it. */
export interface LifeStep {
  readonly name: string;
  readonly value: JsonValue;
}

/** What a step of a golden case does. */
export type StepActions = Readonly<Record<string, (value: JsonValue) => void | Promise<void>>>;

/** The steps of a golden case: a list in YAML, whose items have one key each. */
export function stepsOf(text: string): readonly LifeStep[] {
  const parsed = parseYaml(text);
  if ('error' in parsed) throw new Error(parsed.error);
  if (!isArray(parsed.value)) throw new Error('expected a list of steps');
  return parsed.value.map((step) => {
    const [entry, ...others] = isObject(step) ? Object.entries(step) : [];
    if (!entry || others.length > 0) throw new Error('expected a step with one key');
    return { name: entry[0], value: entry[1] };
  });
}

/** Does the step, by the actions of the family or by those that every family has. */
export async function takeStep(model: NetworkModel, step: LifeStep, own: StepActions): Promise<void> {
  const actions: StepActions = {
    create: (spec) => model.create(spec as JsonObject & NetworkSpec),
    change: (spec) => model.edit(spec as Partial<NetworkSpec>),
    delete: () => model.delete(),
    wreck: () => model.wreck(),
    ...own,
  };
  const action = Object.hasOwn(actions, step.name) ? actions[step.name] : undefined;
  if (!action) throw new Error(`expected one of ${Object.keys(actions).join(', ')}, got ${step.name}`);
  await action(step.value);
}

/** The conditions of the Network's status, by their types. */
export function conditionsOf({ network }: NetworkModel): Readonly<Record<string, string>> {
  const conditions = network?.status?.conditions ?? [];
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
  );
}
