/** The version of this release: the image's tag and the CHANGELOG's heading. A test holds it to package.json. */
export const VERSION = '0.0.1';

/** By which an API server knows this program, in its audit log for example. */
export const USER_AGENT = `envoy-initializer/${VERSION}`;
