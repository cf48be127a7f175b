/** What a pod of a test has. */
export interface PodInit {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly spec?: Record<string, unknown>;
}

let count = 0;

/** A pod with a name of its own. */
export function podOf({ namespace = 'plain', labels = {}, annotations = {}, spec = {} }: PodInit) {
  count += 1;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${count}`, namespace, labels, annotations },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  };
}
