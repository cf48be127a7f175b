/** The oldest Node.js that runs the program: `engines` in package.json, which a test compares. */
export const OLDEST_NODE = '22.19';

/** Why this version of Node.js, as in `v20.1.0`, does not run the program, or undefined if it does. */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `expected Node.js ${OLDEST_NODE} or newer, got ${version}: install a newer one (https://nodejs.org)`;
}
