import { type AttachedPort, type Attachment, portText } from './attach.ts';
import { faultText, type RouteFault } from './findings.ts';
import type { Draft } from './port-table.ts';
import { isGrpcRoute, type Route } from './route.ts';
import { heldKey } from './shares.ts';

export function portsOf(attachments: readonly Attachment[]): readonly AttachedPort[] {
  return attachments.flatMap((attachment) => ('ports' in attachment ? attachment.ports : []));
}

export const draftKey = ({ service, port }: AttachedPort) => `${service}:${port}`;

/** What a route has lost, by {@link heldKey}: ports whose routes are left out, and HTTPRoutes the ports of GRPCRoutes. */
interface Losses {
  readonly skipped: ReadonlyMap<Route, string>;
  readonly withheld: ReadonlyMap<string, string>;
  readonly conflicts: ReadonlyMap<string, string>;
}

/** An attachment to a port whose routes are left out is none, and neither is one without a port. */
export function withoutLosses(
  attachment: Attachment,
  object: Route,
  { skipped, withheld, conflicts }: Losses,
): Attachment {
  // Mostly there are none.
  if ('missing' in attachment || skipped.size + withheld.size + conflicts.size === 0) return attachment;
  const { reference, ports } = attachment;
  const held = ports.map((port) => withheld.get(portOfRoute(port, object)));
  const missing = skipped.get(object) ?? held.find((text) => text !== undefined);
  if (missing !== undefined) return { reference, missing, reason: 'RoutesTooLarge' };
  const lost = conflictsOf(object, [attachment], conflicts);
  if (lost.length === 0) return attachment;
  const left = ports.filter((port) => !conflicts.has(portOfRoute(port, object)));
  if (left.length > 0) return { reference, ports: left };
  return { reference, missing: lost.map(faultText).join('; '), reason: 'Conflicted' };
}

/** The ports that GRPCRoutes have in place of an HTTPRoute. */
export function conflictsOf(
  object: Route,
  attachments: readonly Attachment[],
  conflicts: Losses['conflicts'],
): readonly RouteFault[] {
  const keys =
    isGrpcRoute(object) || conflicts.size === 0
      ? []
      : portsOf(attachments).map((port) => portOfRoute(port, object));
  const messages = keys.flatMap((key) => conflicts.get(key) ?? []);
  return messages.map((message) => ({ reason: 'Conflicted', path: 'parentRefs', message }));
}

function portOfRoute(port: AttachedPort, { metadata: { namespace = '' } }: Route): string {
  return heldKey(draftKey(port), namespace);
}

/**
 * Takes HTTPRoutes from the ports that have GRPCRoutes for the same clients: of one port, one kind of routes applies
 * (GEP-1294). Says which one has it, by {@link heldKey}.
 */
export function withoutConflicts(drafts: ReadonlyMap<string, Draft>): ReadonlyMap<string, string> {
  const conflicts = new Map<string, string>();
  for (const [key, { port, producers, consumers }] of drafts) {
    for (const [namespace, routes] of [[port.namespace, producers] as const, ...consumers]) {
      const first = routes.find(({ isGrpc }) => isGrpc);
      if (first === undefined || routes.every(({ isGrpc }) => isGrpc)) continue;
      const text = `${first.key} is for ${portText(port)}, and comes before HTTPRoutes`;
      conflicts.set(heldKey(key, namespace), text);
      routes.splice(0, Infinity, ...routes.filter(({ isGrpc }) => isGrpc));
    }
  }
  return conflicts;
}
