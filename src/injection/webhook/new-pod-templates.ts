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
export class NewPodTemplates implements TemplateChoice {
  readonly #listeners: (() => void)[] = [];
  #choice: TemplateChoice;

  constructor({ templates, onAdopted }: TemplateSetup) {
    this.#choice = {
      forPod: () => templates.state,
      forPolicies: () => ({ state: templates.state, canary: undefined }),
      forecast: () => undefined,
      onChanged: onAdopted,
    };
    onAdopted(() => this.#changed());
  }

  chooseBy(choice: TemplateChoice): void {
    this.#choice = choice;
    choice.onChanged(() => this.#changed());
  }

  forPod(...of: Parameters<TemplateChoice['forPod']>): TemplateState {
    return this.#choice.forPod(...of);
  }

  forPolicies(): ReturnType<TemplateChoice['forPolicies']> {
    return this.#choice.forPolicies();
  }

  forecast(set: TemplateSet): string | undefined {
    return this.#choice.forecast(set);
  }

  onChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
