import { parseArgs } from 'node:util';
import { deploy } from './deploy.ts';
import { kubectlOf, Refusal } from './kubectl.ts';

const USAGE = `usage: node hack/deploy/cli.ts [--overlay NAME] [--image REFERENCE]

Applies an overlay of deploy/overlays (default: default) with an image, and waits until the operator is ready.

  --timeout SECONDS  maximum time to wait (default: 180)

The cluster is kubectl's: $KUBECONFIG and its current context. KUBECTL is the kubectl to run.
`;

class UsageError extends Error {}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      overlay: { type: 'string', default: 'default' },
      image: { type: 'string', default: 'envoy-initializer:0.0.1' },
      timeout: { type: 'string', default: '180' },
    },
  });
}

function usable(args: readonly string[]): ReturnType<typeof parse>['values'] {
  try {
    return parse(args).values;
  } catch (cause) {
    throw new UsageError(`${cause instanceof Error ? cause.message : String(cause)}\n${USAGE.trimEnd()}`, {
      cause,
    });
  }
}

async function main(args: readonly string[]): Promise<void> {
  const values = usable(args);
  const timeoutSeconds = Number(values.timeout);
  if (!(timeoutSeconds > 0)) throw new UsageError(`--timeout ${values.timeout}: write a number of seconds`);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const kubectl = kubectlOf(process.env.KUBECTL ?? 'kubectl');
  await deploy({ ...values, timeoutSeconds, kubectl, say });
}

try {
  await main(process.argv.slice(2));
} catch (err) {
  if (!(err instanceof Error)) throw err;
  const isExpected = err instanceof Refusal || err instanceof UsageError;
  process.stderr.write(`${isExpected ? err.message : err.stack}\n`);
  process.exitCode = err instanceof UsageError ? 2 : 1;
}
