import { parseArgs } from 'node:util';
import { deploy } from './deploy.ts';
import { kubectlOf, Refusal } from './kubectl.ts';
import { undeploy } from './undeploy.ts';

const USAGE = `usage: node hack/deploy/cli.ts deploy [--overlay NAME] [--image REFERENCE] | undeploy [--force]

  deploy    apply an overlay of deploy/overlays (default: default) with an image, and wait until the operator is ready
  undeploy  remove the operator and all its objects; refuses while Networks exist, unless --force

  --timeout SECONDS  maximum time of each step (default: 180)

The cluster is kubectl's: $KUBECONFIG and its current context. KUBECTL is the kubectl to run.
`;

class UsageError extends Error {}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      overlay: { type: 'string', default: 'default' },
      image: { type: 'string', default: 'envoy-initializer:0.0.1' },
      force: { type: 'boolean', default: false },
      timeout: { type: 'string', default: '180' },
    },
  });
}

function usable(args: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(args);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = usable(args);
  const timeoutSeconds = Number(values.timeout);
  if (!(timeoutSeconds > 0)) throw new UsageError(`--timeout ${values.timeout}: write a number of seconds`);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const kubectl = kubectlOf(process.env.KUBECTL ?? 'kubectl');
  const [command, ...rest] = positionals;
  if (command === 'deploy' && rest.length === 0) await deploy({ ...values, timeoutSeconds, kubectl, say });
  else if (command === 'undeploy' && rest.length === 0)
    await undeploy({ ...values, timeoutSeconds, kubectl, say });
  else throw new UsageError(USAGE.trimEnd());
}

try {
  await main(process.argv.slice(2));
} catch (err) {
  if (!(err instanceof Error)) throw err;
  const isExpected = err instanceof Refusal || err instanceof UsageError;
  process.stderr.write(`${isExpected ? err.message : err.stack}\n`);
  process.exitCode = err instanceof UsageError ? 2 : 1;
}
