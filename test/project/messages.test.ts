import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

/** What a message must not have, and why. */
const RULES: readonly (readonly [RegExp, string])[] = [
  [/\balso if\b/i, 'write: even if'],
  [/\w(?:n['’]t|['’](?:re|ve|ll))\b|\b(?:it|that|there|what)['’]s\b/i, 'write contractions out'],
  [/cannot go on|going on\b/i, 'say what ends: fatal error, exiting'],
  [/use a part\b/i, 'write: split'],
  [/, too(?:[.:;]|$)/, 'leave out: , too'],
  [/\b(?:told|wish(?:es)?|touch(?:es|ed)?|stands? still|rooms)\b/i, 'use a word of Kubernetes'],
];
/** Names keep their capital. */
const NAMES = /^(?:Secret|Neutron|Network|Envoy)\b/;
const LOG_MESSAGE = /\blog\??\.(?:debug|info|warn|error|fatal)\(\s*(?:\{[^{}]*\},\s*)?(['`])(.*?)\1/g;

/** Text in quotes with words in it, by its line; not in comments. */
function textsOf(source: string): readonly { readonly at: number; readonly text: string }[] {
  return source.split('\n').flatMap((line, i) => {
    if (/^\s*(?:\/\/|\/?\*)/.test(line)) return [];
    const quoted = line.matchAll(/'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\]|\\.)*)"/g);
    return [...quoted].flatMap(([, single, back, double]) => {
      const text = single ?? back ?? double ?? '';
      return /[a-z] [a-z]/.test(text) ? [{ at: i + 1, text }] : [];
    });
  });
}

/** The faults of the texts in a source. */
function faultsOf(source: string): readonly string[] {
  const texts = textsOf(source).flatMap(({ at, text }) =>
    RULES.flatMap(([pattern, advice]) => (pattern.test(text) ? [`${at}: ${advice}: ${text}`] : [])),
  );
  const logged = [...source.matchAll(LOG_MESSAGE)].flatMap(([, , text = '']) => [
    ...(/^[A-Z][a-z]+\b/.test(text) && !NAMES.test(text) ? [`begin with a small letter: ${text}`] : []),
    ...(text.endsWith('.') ? [`end without a full stop: ${text}`] : []),
  ]);
  return [...texts, ...logged];
}

test.each([
  ["log.error({ err }, 'Cannot write.');", ['begin with a small letter', 'end without a full stop']],
  ["throw new Error('it waits, also if none asks');", ['1: write: even if']],
  ["const why = 'the pod cannot start, and it’s late';", ['1: write contractions out']],
  ["log.info('API server version changed'); // it isn't read", []],
])('the rules for messages find the faults of %s', (source, faults) => {
  expect(faultsOf(source).map((fault) => fault.replace(/: (?:[^:]*)$/, ''))).toEqual(faults);
});

/** The folders whose messages keep the rules. */
const files = globSync('src/**/*.ts');

test('messages of src say what is wrong, in words of a log', () => {
  expect(files.length).toBeGreaterThan(50);
  const found = files.flatMap((file) =>
    faultsOf(readFileSync(file, 'utf8')).map((fault) => `${file}:${fault}`),
  );
  expect(found).toEqual([]);
});
