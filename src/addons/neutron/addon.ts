import { defineAddOn } from '../../cli/add-on.ts';
import { bool, dnsName, type FlagSpecs } from '../../cli/options/option-values.ts';

const FLAGS = {
  'neutron-secret': {
    parse: dnsName,
    default: 'envoy-initializer-neutron',
    help: "Secret in the operator's namespace with OpenStack's clouds.yaml, for Networks with provider neutron",
  },
  'neutron-pods': {
    parse: bool,
    default: 'false',
    help: 'let pods attach to Networks with provider neutron: every node must be a chassis in its OVN, with bridge br-int',
  },
} as const satisfies FlagSpecs;

/** Networks in OpenStack's Neutron. */
export const neutron = defineAddOn(FLAGS, {
  name: 'neutron',
  commands: [],
  provider: async () => (await import('./setup.ts')).neutron,
  nodePart: async () => (await import('./node/ovn-node.ts')).ovnNode,
});
