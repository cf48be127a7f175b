import { spawnSync } from 'node:child_process';
import { lookUpBinaries } from '../../test/env/control-plane/binaries.ts';
import { cacheDirectory } from '../../test/env/control-plane/cache-directory.ts';
import { chosenKubernetes } from '../../test/env/control-plane/kubernetes.ts';
import { OwnKind } from '../../test/env/kind/own.ts';
import { commandsOf, documents, section } from '../../test/support/jest/markdown.ts';
import type { Narrator } from './narrator.ts';

/** Whether the embedded control plane is to be made first, and there is no Go to make it with. */
export function needsGo(env: NodeJS.ProcessEnv): boolean {
  const { missing } = lookUpBinaries(env, cacheDirectory(env, chosenKubernetes(env)));
  return missing.length > 0 && spawnSync('go', ['version'], { env }).status !== 0;
}

/**
 * Makes a cluster of kind with the operator in it, types what README.md shows, and removes the cluster when `stop` resolves.
 * @throws Error where there is no Docker, kind or kubectl
 */
export async function playOnKind(
  env: NodeJS.ProcessEnv,
  narrator: Narrator,
  stop: Promise<void>,
): Promise<void> {
  const kind = new OwnKind('envoy-initializer-demo', env, (text) => narrator.say(text));
  const obstacle = await kind.obstacle();
  if (obstacle !== undefined) {
    throw new Error(
      `install Go 1.26 or newer, or Docker, kind and kubectl: \`go\` is not there, and ${obstacle}`,
    );
  }
  narrator.say(
    'There is no Go to make the embedded control plane with: kind makes a cluster, in about three minutes.',
  );
  try {
    await kind.install(1, true);
    narrator.heading('What happens, as in README.md');
    const readme = documents().find(({ path }) => path === 'README.md')?.text ?? '';
    for (const { command } of commandsOf(section(readme, '## What happens'))) {
      // What a reader is slower than.
      if (command === 'kubectl get network')
        await kind.type('kubectl wait --for=condition=Ready network --all');
      await kind.type(command);
    }
    narrator.toTry([`export KUBECONFIG=${kind.kubeconfig}`]);
    await stop;
  } finally {
    await kind.remove();
  }
}
