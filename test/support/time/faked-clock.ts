import { glob, readFile } from 'node:fs/promises';
import { ensureRequirements } from '../../env/cluster/debian-packages.ts';
import { FAKETIME, FAKETIME_LIBRARY } from '../../env/cluster/requirements.ts';

const LIBRARY = 'libfaketime.so';
const OFFSET = '/clock/offset';

/** A ConfigMap with the library, for a namespace that lets no pod see the node's files. */
export async function fakedClockConfigMap(name: string): Promise<object> {
  await ensureRequirements([FAKETIME], process.stderr);
  for await (const path of glob(FAKETIME_LIBRARY)) {
    const binaryData = { [LIBRARY]: (await readFile(path)).toString('base64') };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, binaryData };
  }
  throw new Error(`no ${FAKETIME_LIBRARY}`);
}

/** A strategic merge patch of a Deployment: its container's time of day is to be had by `setClock`. The monotonic clock stays. */
export function fakedClockPatch(configMap: string, container: string): object {
  const env = [
    { name: 'LD_PRELOAD', value: `/faketime/${LIBRARY}` },
    { name: 'FAKETIME_TIMESTAMP_FILE', value: OFFSET },
    { name: 'FAKETIME_NO_CACHE', value: '1' },
    { name: 'FAKETIME_DONT_FAKE_MONOTONIC', value: '1' },
  ];
  const volumeMounts = [
    { name: 'faketime', mountPath: '/faketime' },
    { name: 'clock', mountPath: '/clock' },
  ];
  const volumes = [
    { name: 'faketime', configMap: { name: configMap } },
    { name: 'clock', emptyDir: {} },
  ];
  return { spec: { template: { spec: { containers: [{ name: container, env, volumeMounts }], volumes } } } };
}

/** The command by which a container's time of day is moved, by what faketime calls an offset: `+1h`. */
export function setClock(offset: string): string[] {
  return ['node', '--eval', `fs.writeFileSync('${OFFSET}', '${offset}\\n')`];
}
