export const RUNS = ['plain', 'default', 'transparent'] as const;
export type Run = (typeof RUNS)[number];

const PORT_80 =
  "the application listens on port 80, which is the template's, and does not declare it: Envoy cannot start, and says so in the pod's status";

const QOS =
  'requests below the limits make a Guaranteed pod Burstable; annotations make them equal (docs/troubleshooting.md)';
const COUNT = 'it counts the containers or the init containers, of which the sidecar is one';
const INHERENT = [
  ['Pods Set QOS Class', QOS],
  ['should invoke init containers on a Restart', COUNT],
  ['fail the pod if init containers fail on a RestartNever', COUNT],
] as const;

/**
 * Tests that fail with a sidecar by what a sidecar is, each with why no change here mends that. Most wait for minutes, so they
 * are not run.
 */
export const KNOWN: Readonly<Record<Run, readonly (readonly [tests: string, why: string])[]>> = {
  plain: [],
  default: [
    ['StatefulSet Basic', PORT_80],
    ['DNS should (provide|resolve) DNS', PORT_80],
    ['Proxy version v1 A set', PORT_80],
    ['lifecycle of a ReplicationController', PORT_80],
    ['starting a container that exits should run with the expected status', COUNT],
    ...INHERENT,
  ],
  transparent: [['init containers fail on a RestartAlways', COUNT], ...INHERENT],
};
