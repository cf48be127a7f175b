import { Gauge, type Registry } from 'prom-client';
import type { LeaderMetrics } from '../leaderelection/leader-elector.ts';

/** Whether this process leads, under client-go's name. */
export function leaderMetrics(registry: Registry, name: string): LeaderMetrics {
  const status = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this process holds the lease: 1, else 0',
    labelNames: ['name'],
    registers: [registry],
  });
  return { masterStatus: (leading) => status.set({ name }, leading ? 1 : 0) };
}
