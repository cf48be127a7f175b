import type { Findings, Path } from '../../util/diagnostic.ts';
import { isArray, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import { proxyUserFaults } from '../envoy/capture.ts';
import { readsConfiguration } from '../envoy/configuration-age.ts';
import { oldImage } from '../envoy/image-age.ts';
import { ENFORCE_LABEL, podSecurityOf, podSecurityViolations } from '../podspec/pod-security.ts';
import { DEFAULT_GRACE_PERIOD, longestSleep } from '../podspec/rules/grace-period.ts';
import { items } from '../podspec/rules/rules.ts';

/** Warnings about a valid template: things that its author may not have meant. */
export function* templateAdvice(spec: JsonObject, path: Path): Findings {
  const containers = [...items(spec, 'containers', path)];
  const initContainers = [...items(spec, 'initContainers', path)];
  for (const [container, at] of [...containers, ...initContainers]) {
    for (const message of oldImage(container, readsConfiguration(container, { spec }))) {
      yield { path: [...at, 'image'], message };
    }
    yield* flagAdvice(container, at);
  }
  const sidecars = {
    containers: ownObjects(spec, 'containers'),
    initContainers: ownObjects(spec, 'initContainers'),
  };
  for (const message of proxyUserFaults({ spec }, [sidecars])) yield { path, message };
  const seconds = longestSleep([...sidecars.containers, ...sidecars.initContainers]);
  if (seconds > DEFAULT_GRACE_PERIOD) {
    const message = `a hook sleeps for ${seconds} seconds: pods with a shorter terminationGracePeriodSeconds (default ${DEFAULT_GRACE_PERIOD}) get a shorter preStop hook, and with a postStart hook no sidecar`;
    yield { path, message };
  }
  yield* securityAdvice(spec, path);
}

/** Envoy's flag parser (TCLAP, with a blank as delimiter) exits with "Couldn't find match". */
function* flagAdvice(container: JsonObject, path: Path): Findings {
  if (!ownString(container, 'image')?.includes('envoy')) return;
  for (const field of ['command', 'args']) {
    const list = own(container, field);
    if (!isArray(list)) continue;
    for (const [index, argument] of list.entries()) {
      const [, flag, value] = /^(--[a-z0-9-]+)=(.*)$/.exec(String(argument)) ?? [];
      if (flag === undefined) continue;
      const message = `Envoy does not accept "=" after a flag: write "${flag}" and "${value}" as two entries`;
      yield { path: [...path, field, index], message };
    }
  }
}

/** The security context of a pod that meets the level restricted. The template adds to it. */
const CAREFUL: JsonObject = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };

function* securityAdvice(spec: JsonObject, path: Path): Findings {
  const context = own(spec, 'securityContext') as JsonObject | undefined;
  const pod = { spec: { ...spec, securityContext: { ...CAREFUL, ...context } } };
  for (const level of ['baseline', 'restricted']) {
    const [first, ...more] = podSecurityViolations(pod, podSecurityOf({ [ENFORCE_LABEL]: level }));
    if (first === undefined) continue;
    const others =
      more.length > 0 ? ` (and ${more.length} more ${more.length === 1 ? 'violation' : 'violations'})` : '';
    const message = `not injected in namespaces that enforce ${level} pod security: ${first}${others}`;
    yield { path, message };
    return;
  }
}
