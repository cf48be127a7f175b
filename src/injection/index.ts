/** Sidecar injection as pure functions: which pods get one, what is added, and how it is removed. */

export { type Injection, inject } from './inject.ts';
export { type Keys, keysFor } from './keys.ts';
export {
  type InjectManifestsOptions,
  injectManifests,
  type SiteResult,
  type UninjectResult,
  uninjectManifests,
} from './manifests/manifests.ts';
export type { DecideInput, DecideOptions } from './rule.ts';
export { explain, type PodDiagnostic, type Skip, type SkipReason } from './rules/index.ts';
export type { Status } from './status.ts';
export { parseTemplateSet, type TemplateSet, type TemplateState } from './template/template-set.ts';
export { uninject } from './uninject.ts';
