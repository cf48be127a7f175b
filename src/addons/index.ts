import type { AddOn } from '../cli/add-on.ts';
import { drift } from './drift/addon.ts';
import { manifests } from './manifests/addon.ts';
import { neutron } from './neutron/addon.ts';
import { policies } from './policies/addon.ts';
import { rollout } from './rollout/addon.ts';
import { routes } from './routes/addon.ts';

/** All add-ons, in the order of their commands, and of their lines in `status`. */
export const ADD_ONS: readonly AddOn[] = [manifests, policies, drift, rollout, routes, neutron];
