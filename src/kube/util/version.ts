/** The version of this release: the image's tag and the CHANGELOG's heading. A test compares it with package.json. */
export const VERSION = '0.0.1';

/** Names this program to an API server, for example in its audit log. */
export const USER_AGENT = `envoy-initializer/${VERSION}`;
