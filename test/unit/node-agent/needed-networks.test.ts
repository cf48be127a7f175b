import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { EventHandler } from '../../../src/kube/cache/listener.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import { NeededNetworks } from '../../../src/node-agent/needed-networks.ts';

const named = (name: string): KubeObject => ({ metadata: { name, namespace: 'default' } });

/** A fake informer whose cache the test fills. */
class Source {
  readonly lister = new Store<KubeObject>();
  isSynced = true;
  #handler: EventHandler<KubeObject> = {};

  hasSynced = () => this.isSynced;

  addEventHandler(handler: EventHandler<KubeObject>) {
    this.#handler = handler;
    return { hasSynced: () => true, remove: () => {} };
  }

  add(name: string): void {
    this.lister.set(named(name));
    this.#handler.onAdd?.(named(name), false);
  }

  /** Deletes an object: `isMissed` if a list no longer has it, otherwise by a watch event. */
  remove(name: string, isMissed: boolean): void {
    this.lister.delete(`default/${name}`);
    this.#handler.onDelete?.(named(name), isMissed);
  }
}

function stage() {
  const [networks, definitions] = [new Source(), new Source()];
  const needed = new NeededNetworks([networks, definitions]);
  return { networks, definitions, keys: () => needed.keys() && [...(needed.keys() ?? [])] };
}

test('a Network is needed while it or its definition exists', () => {
  const { networks, definitions, keys } = stage();
  networks.add('a');
  definitions.add('a');
  definitions.add('b');
  expect(keys()).toEqual(['default/a', 'default/b']);
  networks.remove('a', true);
  definitions.remove('b', false);
  expect(keys()).toEqual(['default/a']);
});

test('keys are unknown until both caches are synced', () => {
  const { networks, definitions, keys } = stage();
  networks.add('a');
  definitions.isSynced = false;
  expect(keys()).toBeUndefined();
});

test('no Network is needed only if a watch has shown the deletion of the last of each', () => {
  const { networks, definitions, keys } = stage();
  expect(keys()).toBeUndefined();
  networks.add('a');
  definitions.add('a');
  networks.remove('a', false);
  definitions.remove('a', true);
  expect(keys()).toBeUndefined();
  definitions.add('a');
  definitions.remove('a', false);
  expect(keys()).toEqual([]);
  networks.add('b');
  networks.remove('b', true);
  expect(keys()).toBeUndefined();
});
