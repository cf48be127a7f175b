import { OPTED_IN } from './admission-load.ts';

/** An annotation of a pod, by the part of its name that is its own. */
function annotation(name: string): string {
  return `initializer.kubernetes.io/envoy-${name}`;
}

/** Takes all connections through Envoy, but for those of two ports. */
export const CAPTURED = {
  [annotation('templates')]: 'transparent',
  [annotation('exclude-inbound-ports')]: '8082',
  [annotation('exclude-outbound-ports')]: '8083',
};

/** A list of ports with a letter in it. */
export const MISTYPED = { ...CAPTURED, [annotation('exclude-inbound-ports')]: '8082,8o' };

/** A web server on some ports that ends when it is told to. `first` is what its shell does before, a whole command line. */
export function serving(page: string, ports: readonly (number | string)[], first = ':;'): object {
  const servers = ports.map((port) => `httpd -f -p ${port} -h /tmp/www &`).join(' ');
  const script = `mkdir /tmp/www; echo ${page} >/tmp/www/index.html; trap exit TERM; ${first} ${servers} wait`;
  return {
    name: 'app',
    image: 'busybox',
    command: ['sh', '-c', script],
    // Where the machine is busy, a container that asks for nothing gets next to nothing.
    resources: { requests: { cpu: '50m' } },
    lifecycle: { preStop: { sleep: { seconds: 10 } } },
  };
}

export function readyAt(port: number): object {
  return { readinessProbe: { httpGet: { port }, periodSeconds: 1, timeoutSeconds: 10 } };
}

/** Gives a pod, whose network has IPv4 alone, an address of IPv6 too: fd77:: and the last part of the other. */
export const WITH_IPV6 = {
  name: 'ipv6',
  image: 'busybox',
  command: ['sh', '-c', 'ip -6 addr add fd77::$(hostname -i | cut -d. -f4)/64 dev eth0'],
  securityContext: { capabilities: { add: ['NET_ADMIN'] } },
};

/** With a sidecar if it has annotations. */
export function deployment(
  name: string,
  annotations: object | undefined,
  spec: object,
  replicas = 2,
): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels: { ...labels, ...(annotations && OPTED_IN) }, annotations }, spec },
    },
  };
}

/** A Service that is reached from outside of the node, too. */
export function service(name: string, ...ports: readonly number[]): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: {
      type: 'NodePort',
      selector: { app: name },
      ports: ports.map((port) => ({ name: `p${port}`, port })),
    },
  };
}
