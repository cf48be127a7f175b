import { DEMO_TEMPLATE } from '../injection/demo.ts';

export const OPT_IN = 'initializer.kubernetes.io/envoy';
/** A template that adds something to each container of the application, and to each list of the pod. */
export const RICH = `${DEMO_TEMPLATE}
env: [{name: PROXY, value: "1"}, {name: MODE, value: "2"}]
volumeMounts: [{name: envoy-conf, mountPath: /etc/shared}]
hostAliases: [{ip: 192.0.2.1, hostnames: [mesh]}]
imagePullSecrets: [{name: registry}]
`;
export const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };
