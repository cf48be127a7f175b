// client-node's example of an informer with one changed import, and without the code that restarts it after an error.
import { CoreV1Api, KubeConfig, type V1ConfigMap } from '@kubernetes/client-node';
import { makeInformer } from 'envoy-initializer/kube/compat';

const config = new KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(CoreV1Api);
const listConfigMaps = () => api.listNamespacedConfigMap({ namespace: 'default' });
const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', listConfigMaps);

const print = (verb: string) => (object: V1ConfigMap) => console.log(verb, object.metadata?.name);
informer.on('add', print('added'));
informer.on('update', print('updated'));
informer.on('delete', print('deleted'));
informer.on('error', (error) => console.error('retrying after:', error));
process.once('SIGTERM', () => void informer.stop());
await informer.start();
