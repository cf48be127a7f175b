import { own } from '../../util/json.ts';
import { CEL_ALL_CONTAINERS, celString, celStrings } from '../podspec/cel.ts';
import { AUTO_IMAGE, annotation, containerFinder, nameOf } from '../podspec/pod.ts';
import type { PodRule } from '../rule.ts';
import { parseStatus } from '../status.ts';

/** A container with the template's name belongs to the user, unless its image is `auto`. */
export const containerExists = {
  reason: 'container-exists',
  help: "the pod has a container with the template's name",
  warn: true,
  cel({ template: { containers, initContainers } }) {
    const names = [...containers, ...initContainers].map(nameOf);
    const auto = `has(c.image) && c.image == ${celString(AUTO_IMAGE)}`;
    const found = names.length === 0 ? auto : `c.name in ${celStrings(names)} || ${auto}`;
    return { unless: `${CEL_ALL_CONTAINERS}.exists(c, ${found})` };
  },
  find({ pod, options, templates }) {
    const find = containerFinder(pod);
    for (const template of templates) {
      for (const container of template.containers) {
        const name = nameOf(container);
        const existing = find(name);
        if (!existing || own(existing, 'image') === AUTO_IMAGE) continue;
        const { added } = parseStatus(annotation(pod, options.keys.status)) ?? {};
        const earlier = [...(added?.containers ?? []), ...(added?.initContainers ?? [])];
        return earlier.includes(name)
          ? `the pod has container ${name} from an earlier injection with another version of the template: recreate the pod from its workload, or remove the container and the status annotation`
          : `the pod has its own container ${name}: to override the template's container, set its image to ${AUTO_IMAGE}`;
      }
    }
    return undefined;
  },
} as const satisfies PodRule;
