/** client-node's `makeInformer`, with an informer that retries every failure. */
export { makeInformer } from './make-informer.ts';
