import { expect, test } from '@jest/globals';
import type { EventHandler } from '../../../../src/kube/cache/informer.ts';
import { Store } from '../../../../src/kube/cache/store.ts';
import { KnownNetworks } from '../../../../src/networks/agent/desired.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import { newNetwork } from '../networks.ts';

/** A fake informer whose cache the test fills. */
class Source {
  readonly lister = new Store<Network>();
  isSynced = true;
  #handler: EventHandler<Network> = {};

  hasSynced = () => this.isSynced;

  addEventHandler(handler: EventHandler<Network>) {
    this.#handler = handler;
    return { hasSynced: () => true, remove: () => {} };
  }

  add(name: string): void {
    this.lister.set(newNetwork({ name }));
    this.#handler.onAdd?.(newNetwork({ name }), false);
  }

  /** Deletes an object: `isMissed` if a list no longer has it, otherwise by a watch event. */
  remove(name: string, isMissed: boolean): void {
    this.lister.delete(`default/${name}`);
    this.#handler.onDelete?.(newNetwork({ name }), isMissed);
  }
}

function stage() {
  const source = new Source();
  const known = new KnownNetworks(source);
  return { source, keys: () => known.keys() && [...(known.keys() ?? [])] };
}

test('keys are those of all Networks, and unknown until the cache is synced', () => {
  const { source, keys } = stage();
  source.add('a');
  source.add('b');
  expect(keys()).toEqual(['default/a', 'default/b']);
  source.isSynced = false;
  expect(keys()).toBeUndefined();
});

test('an empty list is believed only if a watch has shown the deletion of the last Network', () => {
  const { source, keys } = stage();
  expect(keys()).toBeUndefined();
  source.add('a');
  source.remove('a', true);
  expect(keys()).toBeUndefined();
  source.add('a');
  source.remove('a', false);
  expect(keys()).toEqual([]);
  source.add('b');
  source.remove('b', true);
  expect(keys()).toBeUndefined();
});
