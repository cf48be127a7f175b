import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { listed, must } from '../../env/operator.ts';

/** In the order in which Flux asks them: the first that is true counts. */
const STATES = ['inProgress', 'failed', 'current'] as const;
const GROUP = 'judged.example.com';

type Expressions = { readonly kind: string } & { readonly [State in (typeof STATES)[number]]: string };

/**
 * Has the API server evaluate the health checks of deploy/gitops/flux.yaml: each is a policy about objects of a kind of our
 * own, which holds any object in its spec, and warns with what is true of it.
 */
export class FluxHealth {
  readonly #controlPlane: ControlPlane;

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
  }

  static async start(controlPlane: ControlPlane): Promise<FluxHealth> {
    const documents = loadAll(
      readFileSync(join(projectDirectory(), 'deploy/gitops/flux.yaml'), 'utf8'),
    ) as readonly { readonly spec: { readonly healthCheckExprs?: readonly Expressions[] } }[];
    const checks = documents.flatMap(({ spec }) => spec.healthCheckExprs ?? []);
    const objects = [definition(), ...checks.flatMap(policy)];
    await must(controlPlane, ['apply', '-f', '-'], listed(objects));
    const health = new FluxHealth(controlPlane);
    for (const { kind } of checks) {
      const conditions = [{ type: 'Ready', status: 'True' }];
      const probe = { kind, metadata: { name: 'probe' }, status: { conditions, parents: [] } };
      await eventually(`the policy for ${kind} has an effect`, async () => {
        const { stderr } = await health.#create(probe);
        return stderr.includes('it is ');
      });
    }
    return health;
  }

  /** `inProgress`, `failed` or `current`, or what Flux says of an expression that fails. */
  async of(object: KubeObject & { readonly kind?: string }): Promise<string> {
    const { stderr } = await this.#create(object);
    const error = /resulted in error: .*/.exec(stderr)?.[0];
    return error ?? STATES.find((state) => stderr.includes(`it is ${state}`)) ?? 'inProgress';
  }

  async #create(object: object): Promise<{ readonly stderr: string }> {
    const judged = { apiVersion: `${GROUP}/v1`, kind: 'Judged', metadata: { name: 'it' }, spec: object };
    const args = ['create', '--dry-run=server', '-f', '-'];
    return await this.#controlPlane.kubectl(args, { input: JSON.stringify(judged) });
  }
}

function definition(): object {
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `judged.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Cluster',
      names: { kind: 'Judged', plural: 'judged' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: free } }],
    },
  };
}

function policy({ kind, ...expressions }: Expressions): readonly object[] {
  const name = `flux-${kind.toLowerCase()}`;
  const api = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name } };
  const inSpec = (expression: string) =>
    expression.replaceAll(/\b(status|metadata)(?=\.)/g, 'object.spec.$1').replaceAll('c.object.spec.', 'c.');
  return [
    {
      ...api,
      kind: 'ValidatingAdmissionPolicy',
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [GROUP], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] },
          ],
        },
        matchConditions: [{ name: 'kind', expression: `object.spec.kind == '${kind}'` }],
        validations: STATES.map((state) => ({
          expression: `!(${inSpec(expressions[state])})`,
          message: `it is ${state}`,
        })),
      },
    },
    {
      ...api,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: name, validationActions: ['Warn'] },
    },
  ];
}
