import type { GrowingInput } from './growing-input.ts';
import { FLEET, LINTS, MANIFESTS } from './manifest-inputs.ts';
import { NETWORK_PODS_INPUTS, NETWORKS, NODE_INPUTS } from './reconcile-inputs.ts';
import { ANNOTATIONS, ATTACHMENTS, REVIEWS, SCHEMA_REVIEWS } from './review-inputs.ts';
import { ROUTE_INPUTS } from './route-inputs.ts';
import { ENVOY_INPUTS, PODS_AND_TEMPLATES, SCHEMA_TEMPLATES, TEMPLATES } from './template-inputs.ts';

/** Every input that has a size, by what it is part of. */
export const INPUTS: Readonly<Record<string, readonly GrowingInput[]>> = {
  reviews: [...REVIEWS, ...ANNOTATIONS, ...ATTACHMENTS, ...PODS_AND_TEMPLATES],
  'fields of a pod': SCHEMA_REVIEWS,
  templates: [...TEMPLATES, ...ENVOY_INPUTS],
  'fields of a template': SCHEMA_TEMPLATES,
  'command line': [...MANIFESTS, ...LINTS, ...FLEET],
  reconciles: [...NETWORKS, ...NETWORK_PODS_INPUTS, ...NODE_INPUTS],
  routes: ROUTE_INPUTS,
};
