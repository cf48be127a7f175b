/** client-node's `makeInformer`, with an informer that recovers by itself. */
export { makeInformer } from './make-informer.ts';
