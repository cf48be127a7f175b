/** The version of this release: the image's tag and the CHANGELOG's heading. A test holds it to package.json. */
export const VERSION = '0.0.1';
