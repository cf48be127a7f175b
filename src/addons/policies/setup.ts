import { Gauge } from 'prom-client';
import { waitForSync } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Core } from '../../operator/core.ts';
import { policyReconcile } from './controller.ts';
import { POLICIES, POLICY_BINDINGS } from './resources.ts';

/** The flags of `serve` that policies look at. */
export interface PolicyOptions {
  readonly initializerName: string;
  readonly policy: 'auto' | 'off';
}

const KEY = 'policies';

/** The template as policies that the API server runs, once it serves them (Kubernetes 1.36); kept by the leader. */
export function setUpPolicies(
  manager: Manager,
  core: Pick<Core, 'newPods' | 'serverMinor' | 'namespaces' | 'decideOptions'>,
  options: PolicyOptions,
): void {
  const { leaderClient, log } = manager;
  const { newPods, serverMinor, namespaces, decideOptions } = core;
  const policies = new Gauge({
    name: 'envoy_initializer_policies',
    help: 'MutatingAdmissionPolicies that this process maintains as the leader; 0 if policies are off or not supported',
    registers: [manager.registry],
  });
  const work = manager.controller('policy');
  /** The queue holds the key once, so wakes during a reconcile cause one more reconcile. */
  const wake = () => work.queue.add(KEY);
  const selection = { labelSelector: 'app=envoy-initializer', startWhen: manager.served(POLICIES).until };
  const live = {
    policies: manager.informer(POLICIES, selection),
    bindings: manager.informer(POLICY_BINDINGS, selection),
  };
  const informers = Object.values(live);
  for (const each of informers) each.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  newPods.onChanged(wake);
  serverMinor.onChanged(wake);
  namespaces.onUnseen(wake);
  const reconcile = policyReconcile({
    client: leaderClient,
    live,
    templates: () => newPods.forPolicies(),
    serverMinor: serverMinor.current,
    unseen: namespaces.unseen,
    compile: {
      ...decideOptions,
      name: options.initializerName,
      // The webhook runs too, and rejects pods if it must.
      alone: false,
    },
    enabled: options.policy === 'auto',
    log,
    kept: (count) => policies.set(count),
  });
  work.reconcile((_, signal) => reconcile(signal), {
    keys: () => [KEY],
    // Waits until the API server serves policies.
    after: (signal) => waitForSync(informers, signal),
    ended: () => policies.set(0),
  });
}
