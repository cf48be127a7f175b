import { defineAddOn } from '../../cli/add-on.ts';

/** Networks in OpenStack's Neutron. */
export const neutron = defineAddOn({}, { name: 'neutron', commands: [] });
