import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';

/** Resolves with the first object of the namespace, as it is or becomes, that the test waits for. */
export async function watchUntil<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  namespace: string,
  isIt: (object: T) => boolean,
): Promise<T> {
  const { items, resourceVersion } = await client.list(resource, { namespace });
  const found = items.map((item) => resource.decode(item)).find(isIt);
  if (found) return found;
  for await (const event of client.watch(resource, { namespace, resourceVersion, timeoutSeconds: 60 })) {
    const { type, object } = event as { type: string; object: unknown };
    if (type !== 'ADDED' && type !== 'MODIFIED') continue;
    const changed = resource.decode(object);
    if (isIt(changed)) return changed;
  }
  throw new Error(`waited 60 s for a ${resource.kind} in ${namespace} that did not come`);
}
