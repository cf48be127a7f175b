/** Keystone's configuration, SQLite and Fernet tokens; `keys` is the directory of its two key repositories. */
export function keystoneConfig(options: {
  readonly database: string;
  readonly keys: string;
  readonly tokenLifetimeS: number;
}): string {
  return `[DEFAULT]
[database]
connection = sqlite:///${options.database}?timeout=60
[token]
expiration = ${options.tokenLifetimeS}
allow_expired_window = 0
[fernet_tokens]
key_repository = ${options.keys}/fernet-keys
[fernet_receipts]
key_repository = ${options.keys}/fernet-keys
[credential]
key_repository = ${options.keys}/credential-keys
[identity]
password_hash_rounds = 4
`;
}

/** Neutron's configuration: ML2 on SQLite, no agent, no message bus; tokens of that Keystone, or none asked for. */
export function neutronConfig(options: {
  readonly database: string;
  readonly directory: string;
  readonly apiPaste: string;
  readonly keystone: { readonly url: string; readonly password: string } | undefined;
}): string {
  const { database, directory, apiPaste, keystone } = options;
  return `[DEFAULT]
auth_strategy = ${keystone ? 'keystone' : 'noauth'}
core_plugin = ml2
service_plugins =
api_workers = 0
rpc_workers = 0
transport_url = fake://
state_path = ${directory}
api_paste_config = ${apiPaste}
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
[database]
connection = sqlite:///${database}?timeout=60
[oslo_concurrency]
lock_path = ${directory}
[quotas]
quota_network = -1
quota_subnet = -1
quota_port = -1
${
  keystone
    ? `[keystone_authtoken]
auth_url = ${keystone.url}
www_authenticate_uri = ${keystone.url}
interface = public
auth_type = password
username = neutron
password = ${keystone.password}
project_name = service
user_domain_id = default
project_domain_id = default
service_token_roles_required = true
token_cache_time = -1
`
    : ''
}`;
}

/** The mechanism driver logger does nothing else: networks are real in Neutron, and carry no packet. */
export const ML2_CONFIG = `[ml2]
type_drivers = local
tenant_network_types = local
mechanism_drivers = logger
extension_drivers = port_security
`;
