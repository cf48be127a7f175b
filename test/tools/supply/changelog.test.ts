import { expect, test } from '@jest/globals';
import { unreleased, withRelease } from '../../../hack/release/changelog.ts';

const HEAD = '# Changelog\n\n## [Unreleased]\n';
const ENTRIES = '### Added\n- One: `$&`.\n\n### Fixed\n- Two.\n';

test('the changelog of a release has the entries under the version, and an empty section for the next', () => {
  const older = '\n## [0.1.0] - 2026-01-01\n- Zero.\n';
  expect(withRelease(`${HEAD}\n${ENTRIES}${older}`, '0.2.0', '2026-11-30')).toBe(
    `${HEAD}\n## [0.2.0] - 2026-11-30\n\n${ENTRIES}${older}`,
  );
});

test('the changelog of a release gives the entries as notes, without those of earlier versions', () => {
  expect(unreleased(`${HEAD}\n${ENTRIES}\n## [0.1.0] - 2026-01-01\n- Zero.\n`)).toBe(ENTRIES);
  expect(unreleased(`${HEAD}\n${ENTRIES}`)).toBe(ENTRIES);
});

test.each([
  ['no section', '# Changelog\n'],
  ['an empty section', `${HEAD}\n## [0.1.0] - 2026-01-01\n- Zero.\n`],
  ['headings only', `${HEAD}\n### Added\n\n### Fixed\n`],
  ['a section that a release has just emptied', withRelease(`${HEAD}\n${ENTRIES}`, '0.2.0', '2026-11-30')],
])('a release has no notes in a changelog with %s', (_, text) => {
  expect(unreleased(text)).toBeUndefined();
});
