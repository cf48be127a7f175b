import { POD_SHAPES, type PodShape } from '../../../src/injection/template/pod-shapes.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';

/** Pods that must not restart. */
export const NEVER = POD_SHAPES[0] as PodShape;

/** The templates, of which pods that must not restart do not fit the default one. */
export function withMisfit(set: TemplateSet): TemplateSet {
  const misfits = [{ shape: NEVER, message: 'containers[0].x: no' }];
  const proved = [...set.templates].map(
    ([name, template]) => [name, name === 'config' ? { ...template, misfits } : template] as const,
  );
  return { ...set, templates: new Map(proved) };
}
