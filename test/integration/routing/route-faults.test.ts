import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ROUTES_CONFIG_MAP } from '../../../src/addons/routes/delivery/resources.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/http-route-crds.ts';
import { must, OPERATOR_NAMESPACE, type Operator, startOperator } from '../../env/operator.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import type { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { FakeSidecars } from '../../support/routing/fake-sidecars.ts';

jest.setTimeout(600_000);

const POLICY = 'envoy-initializer-routes';
const PROGRAMMED = 'initializer.kubernetes.io/Programmed';
const ADDRESSES = ['127.15.4.1', '127.15.4.2', '127.15.4.3'] as const;

let controlPlane: ControlPlane;
let lab: FaultLab;
let proxy: FaultProxy;
let operator: Operator;
let sidecars: FakeSidecars;
/** Called when the API server has answered a request of the operator, before the operator hears of it. */
let onAnswer: (url: string) => void = () => undefined;

const kubectl = async (line: string, ...more: readonly string[]) =>
  (await must(controlPlane, [...line.split(' '), ...more])).stdout;
const apply = async (object: object) =>
  (await must(controlPlane, ['apply', '-f', '-'], JSON.stringify(object))).stdout;

const route = (name: string, paths: readonly string[]) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name, namespace: 'default' },
  spec: {
    parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
    rules: paths.map((value) => ({
      matches: [{ path: { type: 'PathPrefix', value } }],
      backendRefs: [{ name: 'web', port: 80 }],
    })),
  },
});

const service = (namespace: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace },
  spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
});

/** All that the operator owes: files with these texts, sidecars that run them, and a status that says so. */
async function converged(name: string, text: string, namespace = 'default'): Promise<void> {
  await eventually(`${name} is everywhere with ${text}`, async () => {
    const maps = sidecars.maps.lister.list();
    const hasText = maps.length >= 2 && maps.every(({ data }) => data?.['rds.json']?.includes(text));
    if (!hasText || !sidecars.areCurrent()) return false;
    const { metadata, status } = JSON.parse(await kubectl(`get httproute ${name} -n ${namespace} -o json`));
    const [parent] = status?.parents ?? [];
    const programmed = parent?.conditions.find(({ type }: { type: string }) => type === PROGRAMMED);
    return (
      programmed?.status === 'True' &&
      programmed.observedGeneration === metadata.generation &&
      programmed.message === `${ADDRESSES.length} of ${ADDRESSES.length} sidecars`
    );
  });
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  lab = await FaultLab.before(controlPlane);
  proxy = await lab.proxy([], {
    rewrite: (url) => {
      onAnswer(url);
      return undefined;
    },
  });
  const kubeconfig = join(controlPlane.directory, 'proxy.kubeconfig');
  await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
  await kubectl(
    'apply -f',
    join(projectDirectory(), 'test/env/control-plane/network-attachment-definition-crd.yaml'),
  );
  await kubectl('apply --server-side -k', await httpRouteCrds());
  await kubectl(`create namespace ${OPERATOR_NAMESPACE}`);
  operator = await startOperator(controlPlane, {
    log: join(controlPlane.directory, 'operator.log'),
    ownCertificates: true,
    args: [`--kubeconfig=${kubeconfig}`, '--policy=off', '--leader-elect=false'],
  });
  // The proxy calls as the administrator, who may not write what only the operator's account may write.
  await kubectl(`delete validatingadmissionpolicybinding ${POLICY}`);
  for (const name of ['one', 'two']) await kubectl(`create namespace ${name}`);
  await apply(service('default'));
  sidecars = new FakeSidecars(lab.client);
  await sidecars.start();
  await sidecars.add('one', 'a', ADDRESSES[0]);
  await sidecars.add('one', 'b', ADDRESSES[1]);
  await sidecars.add('two', 'a', ADDRESSES[2]);
  await apply(route('first', ['/first']));
  await converged('first', '"/first"');
}, 600_000);

afterAll(async () => {
  await sidecars?.stop();
  await proxy?.close();
  await lab?.close();
  await controlPlane?.stop();
});

/** Writes of the delivery: not of Events and leases, nor of what other parts of the operator do. */
function isDelivery(method: string, url: string): boolean {
  if (method === 'GET') return false;
  return (
    url.includes(`/configmaps/${ROUTES_CONFIG_MAP}`) ||
    /\/namespaces\/(one|two|new-\w+-\d+)\/(pods\/|configmaps\?)/.test(url) ||
    url.includes('/httproutes/')
  );
}

/** Kills the operator at its nth write from now on (from 0). Resolves when it is dead. */
function deathAt(nth: number, moment: 'before' | 'after'): Promise<true> {
  let writes = 0;
  const kill = () => operator.process.kill('SIGKILL');
  return new Promise((resolve) => {
    proxy.always = ({ method, url }) => {
      if (!isDelivery(method, url) || writes++ !== nth) return undefined;
      if (moment === 'before') {
        kill();
        resolve(true);
        return { kind: 'hang' };
      }
      onAnswer = (answered) => {
        if (answered !== url) return;
        kill();
        resolve(true);
      };
      return undefined;
    };
  });
}

function heal(): void {
  proxy.always = () => undefined;
  onAnswer = () => undefined;
}

/** Does the step again and again, with a death at a later write each time, until there is none. Resolves with how many. */
async function atEachWrite(
  moment: 'before' | 'after',
  step: (nth: number) => Promise<void>,
): Promise<number> {
  for (let nth = 0; ; nth++) {
    const death = deathAt(nth, moment);
    const done = step(nth);
    const hasDied = await Promise.race([death, done.then(() => false)]);
    heal();
    if (!hasDied) return nth;
    await operator.restart();
    await done;
  }
}

describe('a death at any write', () => {
  test.each(['before', 'after'] as const)(
    '%s it takes effect loses nothing of a changed route',
    async (moment) => {
      const writes = await atEachWrite(moment, async (nth) => {
        const path = `/${moment}-${nth}`;
        await apply(route('changed', [path]));
        await converged('changed', `"${path}"`);
      });
      // A file for each namespace, an annotation for each pod, and a status.
      expect(writes).toBeGreaterThanOrEqual(6);
      expect(sidecars.violations).toEqual([]);
    },
  );

  test('loses nothing of a deleted route', async () => {
    const paths = ['/gone-0', '/gone-1', '/gone-2'];
    for (const path of paths) await apply(route(path.slice(1), [path]));
    await converged('gone-0', '"/gone-2"');
    for (const [nth, path] of paths.entries()) {
      // A write of each kind: the file, the annotation, the last of them.
      const death = deathAt(nth * 2, 'after');
      await kubectl(`delete httproute ${path.slice(1)} -n default`);
      await death;
      heal();
      await operator.restart();
      await eventually(`${path} is gone everywhere`, async () => {
        const texts = sidecars.maps.lister.list().map(({ data }) => data?.['rds.json'] ?? '');
        return texts.every((text) => !text.includes(`"${path}"`)) && sidecars.areCurrent();
      });
    }
    expect(sidecars.violations).toEqual([]);
  });
});

describe('an API server that refuses writes', () => {
  test.each([429, 500])('with %d seven times each loses nothing', async (code) => {
    // More often than the client tries, and than a pod is touched in vain.
    const left = new Map<string, number>();
    proxy.always = ({ method, url }) => {
      const tries = left.get(url) ?? 7;
      if (!isDelivery(method, url) || tries === 0) return undefined;
      left.set(url, tries - 1);
      return { kind: 'status', code };
    };
    await apply(route('refused', [`/refused-${code}`]));
    await converged('refused', `"/refused-${code}"`);
    heal();
    expect(left.size).toBeGreaterThanOrEqual(6);
    expect(sidecars.violations).toEqual([]);
  });
});

describe('routes of another namespace that take too much', () => {
  /** 16 rules of 8 matches each are the most that a route of older CRDs may have. */
  const large = (name: string) => ({
    ...route(name, []),
    metadata: { name, namespace: 'large' },
    spec: {
      parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
      rules: Array.from({ length: 16 }, (_, rule) => ({
        backendRefs: [{ name: 'web', port: 80 }],
        matches: Array.from({ length: 8 }, (_, match) => ({
          path: { type: 'PathPrefix', value: `/${name}-${rule}-${match}-${'x'.repeat(900)}` },
        })),
      })),
    },
  });
  const names = Array.from({ length: 7 }, (_, i) => `large-${i}`);

  test('are left out of the file and of no other, an Event says so, and they are back when they fit', async () => {
    await kubectl('create namespace large');
    await apply(service('large'));
    await apply({ apiVersion: 'v1', kind: 'List', items: names.map(large) });
    await eventually('an Event says so', async () =>
      (await kubectl('get events.events.k8s.io -n one -o yaml')).includes('reason: RoutesTooLarge'),
    );
    await apply(route('first', ['/first-beside']));
    await converged('first', '"/first-beside"');
    for (const { data } of sidecars.maps.lister.list()) {
      expect(Buffer.byteLength(data?.['rds.json'] ?? '')).toBeLessThanOrEqual(900_000);
      expect(data?.['rds.json']).not.toContain('"/large-');
    }
    await kubectl('delete httproutes -n large', ...names.slice(1));
    await converged('large-0', '"/large-0-0-0-', 'large');
    await kubectl('delete namespace large --wait=false');
    await eventually('its route is gone', async () => {
      const texts = sidecars.maps.lister.list().map(({ data }) => data?.['rds.json'] ?? '');
      return texts.every((text) => !text.includes('"/large-')) && sidecars.areCurrent();
    });
  });
});

test('a namespace that is deleted while its sidecars get a change takes its file along, and its series of metrics', async () => {
  const name = 'deleted';
  await kubectl(`create namespace ${name}`);
  await sidecars.add(name, 'a', ADDRESSES[0]);
  const hasSeries = async () =>
    (await (await fetch(`${operator.metricsUrl}/metrics`)).text()).includes(
      `routes_file_bytes{namespace="${name}"`,
    );
  await eventually('it has its file', hasSeries);
  const deletion = kubectl(`delete namespace ${name} --timeout=60s`);
  await apply(route('first', ['/first-meanwhile']));
  await deletion;
  await eventually('it is forgotten', async () => !(await hasSeries()));
});

describe('the file', () => {
  const text = async (namespace: string) =>
    JSON.parse(await kubectl(`get configmap ${ROUTES_CONFIG_MAP} -n ${namespace} -o json`)).data?.[
      'rds.json'
    ];
  const isBack = (before: string) =>
    eventually('the file is back', async () => (await text('one')) === before && sidecars.areCurrent());
  /** Without the policy, as on a cluster where another administrator has removed it. */
  const harms: readonly (readonly [string, readonly string[]])[] = [
    ['is emptied', ['--type=merge', '-p', '{"data":null}']],
    ['gets another text', ['--type=merge', '-p', '{"data":{"rds.json":"{}"}}']],
    ['gets another file', ['--type=merge', '-p', '{"data":{"other.json":"{}"}}']],
  ];

  test.each(harms)('is repaired when it %s', async (_, patch) => {
    const before = await text('one');
    await kubectl(`patch configmap ${ROUTES_CONFIG_MAP} -n one`, ...patch);
    await isBack(before);
  });

  test('is made again when it is deleted', async () => {
    const before = await text('one');
    await kubectl(`delete configmap ${ROUTES_CONFIG_MAP} -n one`);
    await isBack(before);
  });

  test.each([
    ['patch', [`configmap`, ROUTES_CONFIG_MAP, '-n', 'one', '--type=merge', '-p', '{"data":null}']],
    ['delete', ['configmap', ROUTES_CONFIG_MAP, '-n', 'one']],
  ])('is repaired after a %s while no operator ran', async (verb, args) => {
    const before = await text('one');
    operator.process.kill('SIGKILL');
    await operator.process.exited;
    await kubectl(verb, ...args);
    await operator.restart();
    await isBack(before);
  });
});

describe('while no operator runs, the policy', () => {
  const refused = `ValidatingAdmissionPolicy '${POLICY}' with binding '${POLICY}' denied request: running sidecars have their routes from`;
  const inOne = ['-n', 'one', 'configmap', ROUTES_CONFIG_MAP];

  beforeAll(async () => {
    operator.process.kill('SIGKILL');
    await operator.process.exited;
    await kubectl('apply -f', join(projectDirectory(), 'deploy/base/routes-file.yaml'));
    await eventually('the policy is in force', async () => {
      const { stderr } = await controlPlane.kubectl(['delete', ...inOne, '--dry-run=server']);
      return stderr.includes(refused);
    });
  });

  test.each([
    ['a deletion', ['delete', ...inOne]],
    ['a deletion of all', ['delete', 'configmaps', '--all', '-n', 'one']],
    ['another text', ['patch', ...inOne, '--type=merge', '-p', '{"data":{"rds.json":"{}"}}']],
    ['no text', ['patch', ...inOne, '--type=merge', '-p', '{"data":null}']],
    ['another label', ['label', ...inOne, '--overwrite', 'initializer.kubernetes.io/routes-of=me']],
    ['no label', ['label', ...inOne, 'initializer.kubernetes.io/routes-of-']],
    ['an end of all changes', ['patch', ...inOne, '--type=merge', '-p', '{"immutable":true}']],
  ])('refuses %s', async (_, args) => {
    const { code, stderr } = await controlPlane.kubectl(args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(refused) });
  });

  test('lets other changes pass, and a ConfigMap of a user', async () => {
    await kubectl('annotate', ...inOne, 'example.com/note=seen');
    await kubectl('create namespace own');
    await kubectl(`create configmap ${ROUTES_CONFIG_MAP} -n own --from-literal=a=b`);
    await kubectl(`patch configmap ${ROUTES_CONFIG_MAP} -n own --type=merge -p`, '{"data":{"a":"c"}}');
    await kubectl(`delete configmap ${ROUTES_CONFIG_MAP} -n own`);
  });

  test('lets the account of the operator write', async () => {
    const account = [
      '--as=system:serviceaccount:envoy-initializer:envoy-initializer',
      '--as-group=system:masters',
    ];
    await kubectl(
      `patch configmap ${ROUTES_CONFIG_MAP} -n one --type=merge -p`,
      '{"data":{"rds.json":"{}"}}',
      // kubectl reads before it patches, which the account may not.
      ...account,
    );
  });

  test('lets a namespace be deleted with all that it has', async () => {
    await kubectl('delete pods --all -n two --force --grace-period=0');
    await kubectl('delete namespace two --timeout=60s');
  });
});
