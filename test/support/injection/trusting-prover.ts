import type { TemplateSet } from '../../../src/injection/template/template-set.ts';

/** Stands for an API server that accepts all templates. */
const proof = async (set: TemplateSet) => ({ set, faults: [], doubts: [] });
export const trustingProver = { review: proof, prove: proof };
