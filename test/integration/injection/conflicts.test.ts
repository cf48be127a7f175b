import { resolve } from 'node:path/posix';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Injection, inject } from '../../../src/injection/inject.ts';
import { containers, initContainers, isNativeSidecar, volumes } from '../../../src/injection/podspec/pod.ts';
import type { Template } from '../../../src/injection/template/template.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { type DryRun, dryRunPod } from '../../../src/kube/client/dry-run.ts';
import { formatDiagnostic } from '../../../src/util/diagnostic.ts';
import { type JsonObject, own, ownObjects } from '../../../src/util/json.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { CONFLICT_CASES, type ConflictCase } from '../../support/injection/conflict-cases.ts';
import { decideInput, demoPod } from '../../support/injection/demo.ts';
import { metadataOf, specOf } from '../../support/injection/inject-checked.ts';
import { MINOR } from '../../support/jest/since.ts';
import { connect } from '../../support/operator/api-access.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';

const SEED = 20261123;
const PAIRS = 900;

/** What the pod and the template would do to each other, and what the decision was. */
interface Judged extends ConflictCase {
  /** Why the API server refuses them together, or what one would override of the other; empty: they fit. */
  readonly trouble: readonly string[];
  /** As it is written, and as the API server hands it to the webhook. */
  readonly written: Injection;
  readonly stored: Injection;
  /** The answer to the injected pod. */
  readonly answer: DryRun | undefined;
}

let controlPlane: ControlPlane;
let client: KubeClient;
let close: () => Promise<void>;
let judged: readonly Judged[];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  ({ client, close } = connect(controlPlane.kubeconfigPath));
  await serviceAccount(controlPlane, 'default');
  // Before, the API server drops the images of volumes.
  const hasImageVolumes = MINOR >= 35;
  const pairs = fc
    .sample(CONFLICT_CASES, { numRuns: PAIRS, seed: SEED })
    .filter(({ pod, set }) => hasImageVolumes || !hasImageVolume(pod, set));
  const found: Judged[] = [];
  const left = pairs.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const pair of left) found.push(...(await judge(pair)));
    }),
  );
  judged = found;
}, 300_000);

afterAll(async () => {
  await close?.();
  await controlPlane?.stop();
});

const create = (pod: JsonObject) => dryRunPod(client, 'default', pod);

function hasImageVolume(pod: JsonObject, set: TemplateSet): boolean {
  const ours = [...set.templates.values()].flatMap((template) => template.volumes);
  return [...ours, ...volumes(pod)].some((volume) => Object.hasOwn(volume, 'image'));
}

/** Nothing if the API server refuses the pod or the template by itself, or the pod shadows a mount of its own. */
async function judge({ pod, set }: ConflictCase): Promise<readonly Judged[]> {
  const template = set.templates.get('config');
  if (!template || containers(pod).some(shadowsItself)) return [];
  const [alone, plain] = await Promise.all([create(pod), create(together(demoPod(), template, set))]);
  if (!alone.accepted || !plain.accepted) return [];
  const stored = asReviewed(alone.pod as JsonObject);
  const state = { set };
  const [asWritten, asStored] = [inject(decideInput(pod, { state })), inject(decideInput(stored, { state }))];
  const answer = asWritten.outcome === 'injected' ? await create(asWritten.pod) : undefined;
  const trouble = [
    ...(await refusal(pod, template, set)),
    ...otherVolumes(stored, plain.pod as JsonObject, template),
    ...shadowed(pod, template),
    ...bothUses(pod, template),
    ...sharedPorts(pod, template, set),
    ...misledServices(pod, template, set),
  ];
  return [{ pod, set, trouble, written: asWritten, stored: asStored, answer }];
}

/** The pod without what the API server adds only when it stores it. */
function asReviewed(pod: JsonObject): JsonObject {
  const { name, annotations } = metadataOf(pod);
  return { metadata: { name: name ?? '', annotations: annotations ?? {} }, spec: own(pod, 'spec') ?? {} };
}

async function refusal(pod: JsonObject, template: Template, set: TemplateSet): Promise<readonly string[]> {
  const { annotations } = metadataOf(pod);
  const { note, ...others } = annotations as JsonObject;
  const short = { ...pod, metadata: { ...metadataOf(pod), annotations: others } };
  const merged = inject(decideInput(short, { state: { set } }));
  const whole =
    merged.outcome === 'injected' && note !== undefined
      ? withNote(merged.pod, note)
      : together(pod, template, set);
  const answer = await create(whole);
  return answer.accepted ? [] : [`refused: ${answer.error.message}`];
}

function withNote(pod: JsonObject, note: JsonObject[string]): JsonObject {
  const { annotations } = metadataOf(pod);
  return { ...pod, metadata: { ...metadataOf(pod), annotations: { ...(annotations as JsonObject), note } } };
}

function isNative(pod: JsonObject, { options: { nativeSidecar } }: TemplateSet): boolean {
  return nativeSidecar === 'jobs' && own(own(pod, 'spec'), 'restartPolicy') === 'Never';
}

/** All of the template beside all of the pod. What both have under one name or at one place is not there twice. */
function together(pod: JsonObject, template: Template, set: TemplateSet): JsonObject {
  const first = set.options.position === 'first';
  const place = (own: readonly JsonObject[], added: readonly JsonObject[]) =>
    first ? [...added, ...own] : [...own, ...added];
  const sidecars = isNative(pod, set)
    ? { containers: [], natives: template.containers.map((each) => ({ ...each, restartPolicy: 'Always' })) }
    : { containers: template.containers, natives: [] };
  const names = volumes(pod).map(({ name }) => name);
  return {
    ...pod,
    spec: {
      ...specOf(pod),
      containers: place(
        containers(pod).map((each) => mounting(each, template)),
        sidecars.containers,
      ),
      initContainers: place(initContainers(pod), [...template.initContainers, ...sidecars.natives]),
      volumes: [...volumes(pod), ...template.volumes.filter(({ name }) => !names.includes(name ?? null))],
    },
  };
}

function mounting(container: JsonObject, template: Template): JsonObject {
  const mounts = ownObjects(container, 'volumeMounts');
  const added = template.volumeMounts.filter(
    (mount) => !mounts.some((other) => other.name === mount.name && placeIn(other) === placeIn(mount)),
  );
  return { ...container, volumeMounts: [...mounts, ...added] };
}

const placeIn = ({ mountPath, devicePath }: JsonObject) => resolve('/', String(mountPath ?? devicePath));

function shadowsItself(container: JsonObject): boolean {
  const places = [...ownObjects(container, 'volumeMounts'), ...ownObjects(container, 'volumeDevices')].map(
    placeIn,
  );
  return new Set(places).size < places.length;
}

/** Volumes of one name that the API server stores differently. */
function otherVolumes(stored: JsonObject, plain: JsonObject, template: Template): readonly string[] {
  const named = (pod: JsonObject, name: unknown) => volumes(pod).find((each) => each.name === name);
  return template.volumes
    .filter(({ name }) => named(stored, name) && !isDeepStrictEqual(named(stored, name), named(plain, name)))
    .map(({ name }) => `other volume: ${name}`);
}

/** Mounts and devices of the application at the place of another volume's mount. */
function shadowed(pod: JsonObject, template: Template): readonly string[] {
  return containers(pod).flatMap((container) =>
    template.volumeMounts
      .filter(
        (mount) =>
          ownObjects(container, 'volumeDevices').some((device) => placeIn(device) === placeIn(mount)) ||
          ownObjects(container, 'volumeMounts').some(
            (other) => other.name !== mount.name && placeIn(other) === placeIn(mount),
          ),
      )
      .map((mount) => `shadowed: ${mount.mountPath}`),
  );
}

/** Volumes that the kubelet would have to mount and to hand out as a device. */
function bothUses(pod: JsonObject, template: Template): readonly string[] {
  const used = (holders: readonly JsonObject[], list: string) =>
    new Set(holders.flatMap((holder) => ownObjects(holder, list)).map(({ name }) => name));
  const ours = [{ volumeMounts: template.volumeMounts }, ...template.containers, ...template.initContainers];
  const theirs = [...containers(pod), ...initContainers(pod)];
  const common = (a: string, b: string) => [...used(ours, a)].filter((name) => used(theirs, b).has(name));
  return [...common('volumeMounts', 'volumeDevices'), ...common('volumeDevices', 'volumeMounts')].map(
    (name) => `both mounted and a device: ${name}`,
  );
}

/** The containers that run together, in the order in which Services look for a port. */
function running(pod: JsonObject): readonly JsonObject[] {
  return [...containers(pod), ...initContainers(pod).filter(isNativeSidecar)];
}

const protocolOf = ({ protocol }: JsonObject) => protocol ?? 'TCP';

/** Ports of the containers that run together. The API server compares host ports, but not those of native sidecars. */
function sharedPorts(pod: JsonObject, template: Template, set: TemplateSet): readonly string[] {
  const taken = running(pod).flatMap((each) => ownObjects(each, 'ports'));
  const sidecars = [...template.containers, ...template.initContainers].map(({ name }) => name);
  return running(together(pod, template, set))
    .filter(({ name }) => sidecars.includes(name ?? null))
    .flatMap((each) => ownObjects(each, 'ports'))
    .filter((port) =>
      taken.some(
        (other) =>
          protocolOf(other) === protocolOf(port) &&
          (other.containerPort === port.containerPort ||
            (Boolean(port.hostPort) && other.hostPort === port.hostPort)),
      ),
    )
    .map((port) => `shared port: ${port.containerPort}`);
}

/** As k8s.io/endpointslice does (FindPort). */
function findPort(pod: JsonObject, name: unknown, protocol: unknown): unknown {
  const holder = running(pod).find((each) =>
    ownObjects(each, 'ports').some((port) => port.name === name && protocolOf(port) === protocol),
  );
  return holder?.name;
}

function misledServices(pod: JsonObject, template: Template, set: TemplateSet): readonly string[] {
  const ports = running(pod)
    .flatMap((each) => ownObjects(each, 'ports'))
    .filter(({ name }) => name !== undefined);
  return ports
    .filter(
      (port) =>
        findPort(pod, port.name, protocolOf(port)) !==
        findPort(together(pod, template, set), port.name, protocolOf(port)),
    )
    .map(({ name }) => `misled: ${name}`);
}

function verdictOf(injection: Injection): string {
  return injection.outcome === 'injected' ? 'injected' : injection.skip.reason;
}

test('a pod and a template conflict if and only if the API server refuses them, or one overrides the other', () => {
  const wrong = judged.filter(
    ({ trouble, written }) => (trouble.length === 0 ? 'injected' : 'conflict') !== verdictOf(written),
  );
  expect(wrong.map(({ pod, set, trouble, written }) => shown(pod, set, trouble, written))).toEqual([]);
});

test('a pod and a template are judged alike as they are written and as the API server hands them on', () => {
  const differing = judged.filter(({ written, stored }) => verdictOf(written) !== verdictOf(stored));
  expect(differing.map(({ pod, set, trouble, stored }) => shown(pod, set, trouble, stored))).toEqual([]);
});

test('a pod and a template that fit are admitted together', () => {
  const answers = judged.map(({ answer }) => answer).filter((answer) => answer !== undefined);
  expect(answers.length).toBeGreaterThan(PAIRS / 10);
  expect(answers.filter(({ accepted }) => !accepted)).toEqual([]);
});

test('the generated pods and templates of this suite conflict in every way', () => {
  const kinds = new Set(judged.flatMap(({ trouble }) => trouble).map((text) => text.replace(/: .*/s, '')));
  const ways = ['both mounted and a device', 'misled', 'other volume', 'refused', 'shadowed', 'shared port'];
  expect([...kinds].sort()).toEqual(ways);
  const refusals = judged.flatMap(({ trouble }) => trouble).join('\n');
  for (const words of [
    /hostPort/,
    /annotations: Too long/,
    /must be unique/,
    /volumeDevices/,
    /Duplicate value: "setup"/,
  ])
    expect(refusals).toMatch(words);
});

function shown(pod: JsonObject, set: TemplateSet, trouble: readonly string[], injection: Injection) {
  const { hash: _, name: __, ...template } = set.templates.get('config') as Template;
  const skip =
    injection.outcome === 'injected' ? undefined : injection.skip.diagnostics.map(formatDiagnostic);
  return { pod: pod.spec, template, options: set.options, trouble, skip };
}
