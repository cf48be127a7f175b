import { isPodCreation } from '../podspec/admission-target.ts';
import type { PodRule } from '../rule.ts';

export const notAPodCreate = {
  reason: 'not-a-pod-create',
  help: 'the request does not create a pod',
  warn: false,
  // The matchConstraints of the policy check this.
  cel: 'elsewhere',
  find({ request }) {
    if (isPodCreation(request)) return undefined;
    const { resource } = request.resource;
    const name = request.subResource ? `${resource}/${request.subResource}` : resource;
    return `only new pods are injected, and this request is ${request.operation} of ${name}`;
  },
} as const satisfies PodRule;
