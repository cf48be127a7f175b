/** The texts of several files as one stream: `---` where the last one left off, or nothing between JSON objects. */
export function joinManifests(texts: readonly string[]): string {
  const isJson = texts.every((text) => /^\s*\{/.test(text));
  return texts
    .map((text, index) => {
      const isLast = index === texts.length - 1;
      return isLast || text === '' || text.endsWith('\n') ? text : `${text}\n`;
    })
    .filter((text) => text.trim() !== '')
    .reduce((stream, text) => {
      const separated = isJson || stream === '' || text.startsWith('---');
      return separated ? stream + text : `${stream}---\n${text}`;
    }, '');
}
