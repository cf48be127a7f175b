import { Gauge } from 'prom-client';
import { waitForSync } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { type PolicyCore, type PolicyOptions, policyReconcile } from './controller.ts';
import { POLICIES, POLICY_BINDINGS } from './resources.ts';

const KEY = 'policies';

/** The template as policies that the API server runs, once it serves them (Kubernetes 1.36); kept by the leader. */
export function setUpPolicies(manager: Manager, core: PolicyCore, options: PolicyOptions): void {
  const { newPods, serverMinor, namespaces } = core;
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
  const reconcile = policyReconcile(manager, core, options, live, (count) => policies.set(count));
  work.reconcile((_, signal) => reconcile(signal), {
    keys: () => [KEY],
    // Waits until the API server serves policies, and all that they are made of is known.
    async after(signal) {
      await waitForSync(informers, signal);
      await namespaces.untilUnseen(signal);
    },
    ended: () => policies.set(0),
  });
}
