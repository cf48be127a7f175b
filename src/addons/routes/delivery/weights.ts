import { routeKey } from '../compile/route.ts';
import type { LiveRoute } from './resources.ts';

/** The share of the requests of a rule that a backend is to get, named as in the metrics of sidecars. */
export interface Weight {
  readonly route: string;
  readonly backend: string;
  readonly share: number;
}

/** Of each namespace: names are their tenants'. */
const MAX_WEIGHTS = 100;

/** What routes ask for in rules with several backends. Of a backend that a rule names twice, the sum. */
export function weightsOf(routes: readonly LiveRoute[]): readonly Weight[] {
  const counts = new Map<string, number>();
  const weights: Weight[] = [];
  for (const route of routes) {
    const { namespace = '' } = route.metadata;
    for (const [rule, { backendRefs = [] }] of (route.spec.rules ?? []).entries()) {
      const total = backendRefs.reduce((sum, { weight = 1 }) => sum + weight, 0);
      if (backendRefs.length < 2 || total === 0) continue;
      const shares = new Map<string, number>();
      for (const { name, namespace: other = namespace, port, weight = 1 } of backendRefs) {
        const backend = `${other}/${name}:${port}`;
        shares.set(backend, (shares.get(backend) ?? 0) + weight / total);
      }
      const count = (counts.get(namespace) ?? 0) + shares.size;
      if (count > MAX_WEIGHTS) continue;
      counts.set(namespace, count);
      for (const [backend, share] of shares) {
        weights.push({ route: `${routeKey(route)} rules[${rule}]`, backend, share });
      }
    }
  }
  return weights;
}
