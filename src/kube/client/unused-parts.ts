/** Replaces the unused imports of client-node's configuration: see skipApiTypes. It constructs some, and calls none. */
class Unused {}

export {
  Unused as Agent,
  Unused as AzureAuth,
  Unused as createConfiguration,
  Unused as GoogleCloudPlatformAuth,
  Unused as HttpProxyAgent,
  Unused as HttpsProxyAgent,
  Unused as OpenIDConnectAuth,
  Unused as ProxyAgent,
  Unused as ServerConfiguration,
  Unused as SocksClient,
  Unused as SocksProxyAgent,
};
