import { DEFAULT_KEY } from '../injection/keys.ts';
import { ifFound } from '../kube/api/api-error.ts';
import { kindOf } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { SelectionFlags } from '../operator/configuration-mismatch.ts';
import { PROGRAM } from '../util/identity.ts';
import { defined, isObject, type JsonValue, own, ownList, ownObjects, ownString } from '../util/json.ts';

/** The operator's Deployment. */
export type Installation = Readonly<ReturnType<typeof readInstallation>>;

/** Reads the operator's Deployment; undefined if it does not exist. */
export async function readDeployment(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
): Promise<Installation | undefined> {
  const ref = { namespace, name: PROGRAM };
  const found: unknown = await ifFound(client.get(kindOf('apps/v1', 'Deployment'), ref));
  return isObject(found) ? readInstallation(found) : undefined;
}

export function readInstallation(deployment: JsonValue) {
  const spec = own(own(own(deployment, 'spec'), 'template'), 'spec');
  const container = ownObjects(spec, 'containers').find((each) => own(each, 'name') === PROGRAM);
  const args = ownList(container, 'args').map(String);
  /** The text of any flag of `serve`; undefined if it has its default. */
  const flagText = (flag: string): string | undefined => {
    const index = args.findLastIndex((arg) => arg === `--${flag}` || arg.startsWith(`--${flag}=`));
    // `--flag=value`, or the value is the next argument.
    if (index >= 0) return /=(.*)$/.exec(args[index] ?? '')?.[1] ?? args[index + 1];
    const variable = `INITIALIZER_${flag.replaceAll('-', '_').toUpperCase()}`;
    const entry = ownObjects(container, 'env').find((each) => own(each, 'name') === variable);
    return ownString(entry, 'value');
  };
  const requireAnnotation = flagText('require-annotation');
  const number = (value: JsonValue | undefined, byDefault: number) =>
    typeof value === 'number' ? value : byDefault;
  /** Those that it is started with. */
  const flags: Partial<SelectionFlags> = defined({
    annotation: flagText('annotation'),
    requireAnnotation: requireAnnotation === undefined ? undefined : requireAnnotation !== 'false',
    initializerName: flagText('initializer-name'),
  });
  return {
    flags,
    flagText,
    image: ownString(container, 'image') ?? '',
    /** The wanted ones. */
    replicas: number(own(own(deployment, 'spec'), 'replicas'), 1),
    readyReplicas: number(own(own(deployment, 'status'), 'readyReplicas'), 0),
  };
}

const DEFAULTS: SelectionFlags = {
  annotation: DEFAULT_KEY,
  requireAnnotation: true,
  initializerName: 'envoy.initializer.kubernetes.io',
};

/** The options of a command, with the installation's flags in place of defaults. */
export function followInstallation<T extends Partial<SelectionFlags>>(
  options: T,
  installation: Pick<Installation, 'flags'> | undefined,
): T {
  const followed = Object.entries(installation?.flags ?? {}).filter(
    ([name]) => options[name as keyof SelectionFlags] === DEFAULTS[name as keyof SelectionFlags],
  );
  return { ...options, ...Object.fromEntries(followed) };
}
