import { clip } from '../util/clip.ts';
import { type JsonValue, own, ownObjects, ownString } from '../util/json.ts';
import type { Keys } from './keys.ts';
import { annotation, nameOf, type Pod } from './podspec/pod.ts';
import { addedContainers, parseStatus } from './status.ts';

const IN_USE = /address already in use/i;
/** Envoy's time, thread and level, which differ each time, as does the number of blanks in what protobuf says. */
const LOG_PREFIX = /^(?:\[[^\]]*\]\s*)+/;
const BLANKS = /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** How a container of the pod's sidecar has ended, if with an error: one sentence, with a remedy if it is known. */
export function sidecarFailure(pod: Pod, keys: Keys): string | undefined {
  const ended = ['initContainerStatuses', 'containerStatuses']
    .flatMap((list) => ownObjects(own(pod, 'status'), list))
    .map((each) => {
      const [now, last] = ['state', 'lastState'].map((state) => own(own(each, state), 'terminated'));
      return { name: nameOf(each), end: now ?? last };
    })
    .filter(({ end }) => (own(end, 'exitCode') ?? 0) !== 0);
  // Most pods need no look into their annotation. Containers may be killed when their pod goes.
  if (ended.length === 0 || own(own(pod, 'metadata'), 'deletionTimestamp') !== undefined) return undefined;
  const status = parseStatus(annotation(pod, keys.status));
  const names = status ? [...addedContainers(status), ...Object.keys(status.overlaid)] : [];
  const failed = ended.find(({ name }) => names.includes(name));
  return failed && `container ${failed.name} ${howEnded(failed.end)}`;
}

/** How a container ended, with one of its last lines, text of a tenant. The kubelet keeps 4096 bytes, a forger any number. */
export function howEnded(end: JsonValue | undefined): string {
  const text = ownString(end, 'message')?.trim() || ownString(end, 'reason') || '';
  const lines = text.slice(-4096).split(/[\r\n]+/);
  const inUse = lines.find((line) => IN_USE.test(line));
  const line = (inUse ?? lines.at(-1) ?? '').replace(LOG_PREFIX, '');
  const remedy = inUse && "; move the application or Envoy's listener to another port";
  const said = clip(line.replaceAll(BLANKS, ' ').trim(), 300);
  return `ended with exit code ${own(end, 'exitCode')}${said && `: ${said}`}${remedy ?? ''}`;
}
