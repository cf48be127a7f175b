// A complete controller: each ConfigMap with the label `count-keys` gets an annotation with the number of its keys.
// Run it beside `make run`: KUBECONFIG=… node docs/examples/key-counter.ts
import { CONFIG_MAPS, Manager, stopSignal } from 'envoy-initializer/kube';

const manager = Manager.create({ name: 'key-counter', leaderElection: { namespace: 'default' } });
manager
  .controller('key-counter')
  .for(CONFIG_MAPS, { labelSelector: 'count-keys' })
  .reconcile(async ({ object, client, signal }) => {
    if (!object) return;
    const keys = String(Object.keys(object.data ?? {}).length);
    if (object.metadata.annotations?.['example.com/keys'] === keys) return;
    const patch = { metadata: { annotations: { 'example.com/keys': keys } } };
    await client.mergePatch(CONFIG_MAPS, object.metadata, patch, { signal });
  });
await manager.run(stopSignal());
