import type { Refusal } from '../addresses/request.ts';
import { MULTUS_NETWORKS, NETWORK_ANNOTATION } from '../api/names.ts';
import { mergeNetworks } from './merge.ts';
import { type AttachOptions, optionProblem } from './option-problem.ts';
import { parseRequest } from './request.ts';
import { keyOfSelected, type Overlong, overlongProblem } from './selection.ts';

/** Whether to remove the gate of a pod. */
export type GateDecision =
  | { readonly kind: 'lift'; readonly networks: readonly string[] }
  | {
      readonly kind: 'wait';
      readonly reason: Refusal['reason'] | 'ProviderCannotAttach';
      readonly why: string;
    };

/** The current annotations of a gated pod, which may have changed since its admission. */
export interface Annotated {
  /** The operator's annotation. */
  readonly asked: string | Overlong | undefined;
  /** Multus' annotation. */
  readonly multus: string | Overlong | undefined;
  readonly namespace: string;
}

/** Removes the gate if all Networks of the pod are Ready, and Multus' annotation names each of them. */
export function decideGate({ asked, multus, namespace }: Annotated, options: AttachOptions): GateDecision {
  if (asked === undefined) return { kind: 'lift', networks: [] };
  const invalid = (why: string): GateDecision => ({
    kind: 'wait',
    reason: 'InvalidNetworkAnnotation',
    why,
  });
  const request = parseRequest(asked, namespace, options.access);
  if ('problem' in request) return invalid(`annotation ${NETWORK_ANNOTATION} ${request.problem}`);
  const networks = request.networks.map(keyOfSelected);
  const states = networks.map(options.stateOf);
  const unattachable = states.find((state) => state.kind === 'unattachable');
  if (unattachable) return { kind: 'wait', reason: 'ProviderCannotAttach', why: unattachable.why };
  const waiting = states.flatMap((state) => (state.kind === 'waiting' ? [state.why] : []));
  if (waiting.length > 0) return { kind: 'wait', reason: 'WaitsForNetwork', why: waiting.join('; ') };
  const merged =
    typeof multus === 'object' ? overlongProblem(multus) : mergeNetworks(request, multus, namespace);
  if ('problem' in merged) return invalid(`annotation ${MULTUS_NETWORKS} ${merged.problem}`);
  if (merged.text !== multus)
    return invalid(
      `annotation ${NETWORK_ANNOTATION} changed after the creation of the pod: recreate the pod`,
    );
  // What the webhook could not know before the Network was Ready.
  const wrong = optionProblem(merged.text, namespace, options);
  if (wrong === undefined) return { kind: 'lift', networks };
  return invalid(`annotation ${MULTUS_NETWORKS} ${wrong}, and recreate the pod`);
}
