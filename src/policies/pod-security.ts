import { podCreation } from '../podspec/admission-target.ts';
import { ENFORCE_LABEL } from '../podspec/pod-security/pod-security.ts';
import { inject } from '../sidecar/inject.ts';
import { keysFor } from '../sidecar/keys.ts';
import type { Template } from '../sidecar/template/template.ts';
import type { TemplateSet } from '../sidecar/template/template-set.ts';

const LEVELS = ['baseline', 'restricted'] as const;

/**
 * The levels of pod security that a pod may break by this template. In namespaces that enforce one of them, only the
 * webhook injects. The template's settings for the whole pod do not count, because a pod may override them. A sidecar that
 * meets a level without them meets it in every pod.
 */
export function brokenLevels(template: Template, set: TemplateSet): readonly string[] {
  // A misfit is no matter of levels: it has a condition of its own.
  const whole = { ...template, misfits: [] };
  const alone = { ...whole, securityContext: {} };
  return LEVELS.filter((level) => [whole, alone].some((each) => breaks(each, set, level)));
}

function breaks(template: Template, set: TemplateSet, level: string): boolean {
  const keys = keysFor();
  return ['Always', 'Never'].some((restartPolicy) => {
    const injection = inject({
      request: podCreation('default'),
      pod: { metadata: {}, spec: { restartPolicy, containers: [{ name: 'envoy-initializer-policy' }] } },
      namespaceLabels: { [ENFORCE_LABEL]: level },
      options: { keys, requireAnnotation: false, operatorNamespace: '' },
      state: { set: { ...set, templates: new Map([['config', template]]) } },
    });
    return injection.outcome !== 'injected';
  });
}
