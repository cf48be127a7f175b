import type { NamespaceSettings } from '../namespace-settings.ts';
import type { CanaryScope } from '../template/strategy.ts';
import type { TemplateSet, TemplateState } from '../template/template-set.ts';
import type { TemplateSetup } from './template-setup.ts';

/** Which templates new pods get. */
export interface TemplateChoice {
  forPod(pod: { readonly controllerUid: string | undefined }, namespace: NamespaceSettings): TemplateState;
  /** The templates for all pods outside of a canary, and the canary while there is one. */
  forPolicies(): { readonly state: TemplateState; readonly canary: CanaryScope | undefined };
  /** What templates would do to running pods, in one line; undefined if nothing. */
  forecast(set: TemplateSet): string | undefined;
  /** Calls the listener when the answers above may have changed. */
  onChanged(listener: () => void): void;
}

/** The templates of new pods: those of the ConfigMap, until an add-on chooses others, as a rollout does. */
export interface NewPodTemplates extends TemplateChoice {
  chooseBy(choice: TemplateChoice): void;
}

export function newPodTemplates({ templates, onAdopted }: TemplateSetup): NewPodTemplates {
  const listeners: (() => void)[] = [];
  const changed = () => {
    for (const listener of listeners) listener();
  };
  let chosen: Omit<TemplateChoice, 'onChanged'> = {
    forPod: () => templates.state,
    forPolicies: () => ({ state: templates.state, canary: undefined }),
    forecast: () => undefined,
  };
  onAdopted(changed);
  return {
    chooseBy(choice) {
      chosen = choice;
      choice.onChanged(changed);
    },
    forPod: (...of) => chosen.forPod(...of),
    forPolicies: () => chosen.forPolicies(),
    forecast: (set) => chosen.forecast(set),
    onChanged: (listener) => void listeners.push(listener),
  };
}
