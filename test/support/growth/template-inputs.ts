import { compilePolicies } from '../../../src/addons/policies/compile.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { parseTemplateSet } from '../../../src/injection/template/template-set.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { podReview } from '../injection/admission-review.ts';
import { DEMO_TEMPLATE, podWith } from '../injection/demo.ts';
import { call, configMapReview, injecting, validatingEnvoy, validatingTemplates } from './calls.ts';
import { type GrowingInput, mapOf, times } from './growing-input.ts';
import { sizedFields } from './schema-fields.ts';
import { OPT_IN } from './settings.ts';

const ENVOY = { name: 'envoy', image: 'envoyproxy/envoy:v1.40.0' };

/** A template has no more than 100 containers, and a policy no more than 100,000 characters in an expression. */
const FOR_CONTAINERS = 25;
const FOR_POLICIES = 75;

/** What becomes of a ConfigMap with these templates: it is looked through when it is applied, and made a policy. */
function templates(
  name: string,
  data: (n: number) => Readonly<Record<string, string>>,
  from?: number,
): readonly GrowingInput[] {
  return [
    {
      name: `templates: ${name}`,
      ...(from !== undefined && { from }),
      work: (n) => call(validatingTemplates(), configMapReview('envoy-initializer', data(n))),
    },
    // Of a template that is wrong there is no policy.
    ...('faults' in parseTemplateSet(data(10)) ? [] : [policy(name, data, from ?? FOR_POLICIES)]),
  ];
}

function policy(
  name: string,
  data: (n: number) => Readonly<Record<string, string>>,
  from: number,
): GrowingInput {
  return {
    name: `policy: ${name}`,
    from,
    work: (n) => {
      const parsed = parseTemplateSet(data(n));
      const compile = {
        keys: keysFor(),
        requireAnnotation: true,
        operatorNamespace: 'x',
        name: 'p',
        alone: true,
      };
      return () => 'set' in parsed && compilePolicies(parsed.set, compile);
    },
  };
}

const template = (name: string, spec: (n: number) => JsonObject, from?: number): readonly GrowingInput[] =>
  templates(name, (n) => ({ config: JSON.stringify(spec(n)) }), from);
const sidecars = (n: number, fields: (index: number) => JsonObject = () => ({})) => ({
  containers: times(n, (i) => ({ ...ENVOY, name: `envoy-${i}`, ...fields(i) })),
});

/** Each list and map of the pod schema, as a template has it. */
export const SCHEMA_TEMPLATES: readonly GrowingInput[] = sizedFields().flatMap(({ name, spec }) =>
  template(name, spec, name === 'containers' || name === 'initContainers' ? FOR_CONTAINERS : undefined),
);

export const TEMPLATES: readonly GrowingInput[] = [
  ...template('containers', (n) => sidecars(n), FOR_CONTAINERS),
  ...template('containers of one name', (n) => ({ containers: times(n, () => ENVOY) }), FOR_CONTAINERS),
  ...template(
    'containers with a port each',
    (n) => sidecars(n, (i) => ({ ports: [{ containerPort: 1 + i }] })),
    FOR_CONTAINERS,
  ),
  ...template(
    'containers with one port',
    (n) => sidecars(n, () => ({ ports: [{ containerPort: 80 }] })),
    FOR_CONTAINERS,
  ),
  ...template(
    'containers with one port of the host',
    (n) => sidecars(n, (i) => ({ ports: [{ containerPort: 1 + i, hostPort: 80 }] })),
    FOR_CONTAINERS,
  ),
  ...template(
    'containers with a volume each',
    (n) => ({
      ...sidecars(n, (i) => ({ volumeMounts: [{ name: `v-${i}`, mountPath: '/m' }] })),
      volumes: times(n, (i) => ({ name: `v-${i}`, emptyDir: {} })),
    }),
    FOR_CONTAINERS,
  ),
  ...template('variables for the application', (n) => ({
    env: times(n, (i) => ({ name: `E_${i}`, value: 'x' })),
  })),
  ...template('mounts for the application', (n) => ({
    volumeMounts: times(n, (i) => ({ name: 'v', mountPath: `/m/${i}` })),
    volumes: [{ name: 'v', emptyDir: {} }],
  })),
  ...template('mounts without a volume', (n) => ({
    volumeMounts: times(n, (i) => ({ name: `v-${i}`, mountPath: `/m/${i}` })),
  })),
  ...template('unknown fields', (n) => ({ containers: [{ ...ENVOY, ...mapOf(n, () => 'x', 'portz') }] })),
  ...template('unknown fields of the spec', (n) => mapOf(n, () => 'x', 'containerz')),
  ...template('values of the wrong type', (n) => sidecars(n, () => ({ image: 1, ports: 'x' }))),
  ...template('labels', (n) => ({ metadata: { labels: mapOf(n, () => 'x') }, spec: sidecars(1) })),
  ...template('labels that are none', (n) => ({
    metadata: { labels: mapOf(n, () => '!') },
    spec: sidecars(1),
  })),
  ...template('names of the workload', (n) => ({
    ...sidecars(1, () => ({ args: times(n, () => '${' + 'workload.name}') })),
  })),
  ...template('letters', (n) => sidecars(1, () => ({ args: ['x'.repeat(50 * n)] }))),
  // Bodies above 256 KiB are scanned before they are parsed: no size may straddle that.
  ...template(
    'letters that are escaped',
    (n) => sidecars(1, () => ({ args: ['\u0001"\\'.repeat(50 * n)] })),
    50,
  ),
  ...templates('further templates', (n) => ({
    config: DEMO_TEMPLATE,
    ...mapOf(n, () => DEMO_TEMPLATE, 'config.t'),
  })),
  ...templates('further templates that are none', (n) => ({
    config: DEMO_TEMPLATE,
    ...mapOf(n, () => 'x', 'config.t'),
  })),
  ...templates('keys of others', (n) => ({ config: DEMO_TEMPLATE, ...mapOf(n, () => 'x', 'konfig') })),
  ...templates('lines with a fault each', (n) => ({
    config: `containers:\n${times(n, (i) => `- {name: c-${i}, imag: x}\n`).join('')}`,
  })),
  ...templates('blank lines before a fault', (n) => ({ config: `${'\n'.repeat(20 * n)}contaners: [1]\n` })),
  ...templates('anchors', (n) => ({
    config: `containers:\n- &a ${JSON.stringify(ENVOY)}\n${times(n, () => '- *a\n').join('')}`,
  })),
  ...templates('anchors of anchors', (n) => ({
    config: times(
      Math.min(n, 400),
      (i) => `a${i}: &a${i} [${i === 0 ? 1 : `*a${i - 1}, *a${i - 1}`}]\n`,
    ).join(''),
  })),
  ...templates('brackets', (n) => ({ config: '['.repeat(20 * n) })),
  ...templates('brackets that are closed', (n) => ({ config: '['.repeat(n) + ']'.repeat(n) })),
  ...templates('documents', (n) => ({ config: 'a: 1\n---\n'.repeat(n) })),
  ...templates('dashes', (n) => ({ config: '- '.repeat(5 * n) })),
  ...templates('comments', (n) => ({ config: `${'# x\n'.repeat(20 * n)}${DEMO_TEMPLATE}` })),
  ...templates('text in quotes', (n) => ({ config: `containers: "${'\\n'.repeat(50 * n)}"` })),
  ...templates('a block of text', (n) => ({ config: `containers: |\n${'  x\n'.repeat(20 * n)}` })),
  ...templates('duplicate keys', (n) => ({ config: 'a: 1\n'.repeat(n) })),
];

/** Pods that grow with the template: what of the template is there already is found without a look at all of it. */
const together = (
  name: string,
  spec: (n: number) => JsonObject,
  pod: (n: number) => JsonObject,
  from?: number,
): GrowingInput => ({
  name: `review and template: ${name}`,
  ...(from !== undefined && { from }),
  work: (n) =>
    call(
      injecting({ data: { config: JSON.stringify(spec(n)) } }),
      podReview({ object: podWith(pod(n), { annotations: { [OPT_IN]: 'true' } }) }),
    ),
});

export const PODS_AND_TEMPLATES: readonly GrowingInput[] = [
  together(
    'containers',
    (n) => sidecars(n),
    (n) => ({ containers: times(n, (i) => ({ name: `app-${i}` })) }),
    FOR_CONTAINERS,
  ),
  together(
    'containers beside those that are laid over',
    () => sidecars(20),
    (n) => ({
      containers: times(n + 20, (i) => ({ name: `envoy-${i}`, image: i < 20 ? 'auto' : 'busybox' })),
    }),
  ),
  together(
    'containers beside those that become native',
    () => sidecars(20),
    (n) => ({
      restartPolicy: 'Never',
      containers: times(n + 20, (i) => ({ name: `envoy-${i}`, image: i < 20 ? 'auto' : 'busybox' })),
    }),
  ),
  together(
    'ports',
    (n) => sidecars(1, () => ({ ports: times(n, (i) => ({ containerPort: 1 + i })) })),
    (n) => ({
      containers: [{ name: 'app', ports: times(n, (i) => ({ containerPort: 30_000 + i })) }],
    }),
  ),
  together(
    'variables',
    (n) => ({ env: times(n, (i) => ({ name: `E_${i}`, value: 'x' })) }),
    (n) => ({
      containers: [{ name: 'app', env: times(n, (i) => ({ name: `E_${i}`, value: 'y' })) }],
    }),
  ),
  together(
    'mounts',
    (n) => ({
      volumes: [{ name: 'v', emptyDir: {} }],
      volumeMounts: times(n, (i) => ({ name: 'v', mountPath: `/m/${i}` })),
    }),
    (n) => ({
      containers: [{ name: 'app', volumeMounts: times(n, (i) => ({ name: 'v', mountPath: `/m/${i}` })) }],
    }),
  ),
  together(
    'volumes',
    (n) => ({ volumes: times(n, (i) => ({ name: `v-${i}`, emptyDir: {} })) }),
    (n) => ({
      volumes: times(n, (i) => ({ name: `v-${i}`, emptyDir: {} })),
    }),
  ),
  together(
    'secrets',
    (n) => ({ imagePullSecrets: times(n, (i) => ({ name: `s-${i}` })) }),
    (n) => ({ imagePullSecrets: times(n, (i) => ({ name: `s-${i}` })) }),
  ),
  together(
    'aliases',
    (n) => ({ hostAliases: times(n, (i) => ({ ip: `10.0.${i >> 8}.${i & 255}`, hostnames: ['x'] })) }),
    (n) => ({ hostAliases: times(n, (i) => ({ ip: `10.0.${i >> 8}.${i & 255}`, hostnames: ['x'] })) }),
  ),
  together(
    'names of an alias',
    (n) => ({ hostAliases: [{ ip: '10.0.0.1', hostnames: times(n, (i) => `h-${i}`) }] }),
    (n) => ({ hostAliases: [{ ip: '10.0.0.1', hostnames: times(n, (i) => `h-${i}`) }] }),
  ),
];

const envoy = (
  name: string,
  data: (n: number) => Readonly<Record<string, string>>,
  labels = {},
): GrowingInput => ({
  name: `envoy: ${name}`,
  work: (n) => call(validatingEnvoy(), configMapReview('envoy', data(n), labels)),
});
const bootstrap = (name: string, resources: (n: number) => JsonObject): GrowingInput =>
  envoy(name, (n) => ({ 'envoy.json': JSON.stringify({ static_resources: resources(n) }) }));
const routesTo = (n: number, name: (index: number) => string) => ({
  listeners: [{ routes: times(n, (i) => ({ route: { cluster: name(i) } })) }],
});
const clusters = (n: number) => times(n, (i) => ({ name: `c-${i}` }));

export const ENVOY_INPUTS: readonly GrowingInput[] = [
  bootstrap('clusters', (n) => ({ clusters: clusters(n) })),
  bootstrap('routes', (n) => ({ ...routesTo(n, (i) => `c-${i}`), clusters: clusters(n) })),
  bootstrap('routes to nowhere', (n) => ({ ...routesTo(n, (i) => `d-${i}`), clusters: clusters(n) })),
  bootstrap('the length of a name', (n) => ({
    ...routesTo(20, (i) => `d-${'d'.repeat(n)}-${i}`),
    clusters: [{ name: 'c'.repeat(n) }],
  })),
  bootstrap('the length of a name that is not meant', (n) => ({
    ...routesTo(20, (i) => `d-${'d'.repeat(50)}-${i}`),
    clusters: [{ name: 'c'.repeat(n) }],
  })),
  bootstrap('weighted clusters', (n) => ({
    listeners: [{ routes: [{ route: { weighted_clusters: { clusters: clusters(n) } } }] }],
    clusters: clusters(n),
  })),
  bootstrap('filters without a configuration', (n) => ({ filters: times(n, (i) => ({ name: `f-${i}` })) })),
  bootstrap('parts of the v2 API', (n) => ({ clusters: times(n, () => ({ name: 'c', hosts: [] })) })),
  bootstrap('misspelt fields', (n) => mapOf(n, () => 1, 'clusterz')),
  envoy('fields', (n) => ({ 'envoy.json': JSON.stringify(mapOf(n, () => 1, 'admin')) })),
  envoy('files', (n) => mapOf(n, () => '{}', 'a.json').valueOf() as Record<string, string>),
  envoy('files that are none', (n) => Object.fromEntries(times(n, (i) => [`a-${i}.json`, '[']))),
  envoy('weights', (n) => Object.fromEntries(times(n, (i) => [`canary-${i}.app`, '1'])), {
    'initializer.kubernetes.io/envoy-weights': 'true',
  }),
  envoy('weights that are none', (n) => Object.fromEntries(times(n, (i) => [`canary.app-${i}`, 'x'])), {
    'initializer.kubernetes.io/envoy-weights': 'true',
  }),
  envoy('digits of a weight', (n) => ({ 'canary.app': '1'.repeat(50 * n) }), {
    'initializer.kubernetes.io/envoy-weights': 'true',
  }),
  envoy('blanks behind a weight', (n) => ({ 'canary.app': `1${' '.repeat(50 * n)}x` }), {
    'initializer.kubernetes.io/envoy-weights': 'true',
  }),
  envoy('letters of a key', (n) => ({ [`${'a.'.repeat(50 * n)}!`]: '1' })),
  envoy('brackets', (n) => ({ 'envoy.json': '['.repeat(20 * n) })),
];
