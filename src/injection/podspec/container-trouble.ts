import { clip } from '../../util/clip.ts';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';

/** Reasons of waiting containers that need time, and no repair. */
const STARTING = new Set(['', 'ContainerCreating', 'PodInitializing']);
const MAX_TROUBLE = 300;

/** Why a container cannot run, in the kubelet's words. */
export function troubleOf(state: JsonObject): string | undefined {
  const [waiting, terminated] = ['waiting', 'terminated'].map((key) => own(own(state, 'state'), key));
  if (isObject(waiting)) return STARTING.has(ownString(waiting, 'reason') ?? '') ? undefined : words(waiting);
  const isFailure = isObject(terminated) && own(terminated, 'exitCode') !== 0;
  return isFailure ? `${words(terminated)} (exit code ${own(terminated, 'exitCode')})` : undefined;
}

function words(state: JsonValue): string {
  const [reason = '', message] = [ownString(state, 'reason'), ownString(state, 'message')];
  return clip(message ? `${reason}: ${message}` : reason, MAX_TROUBLE);
}
