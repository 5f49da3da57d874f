const CONSTANT = "is a constant of the code now";

/** Settings that were removed, each with the rule that replaces it. A process that finds one of them set does not start. */
export const REMOVED_SETTINGS: Readonly<Record<string, string>> = {
  YARD_HTTP_STREAMS: CONSTANT,
  YARD_HTTP_CONNECTIONS_PER_ADDRESS: CONSTANT,
  YARD_COMMAND_CPU_SECONDS: CONSTANT,
  YARD_WEBHOOKS_PER_CALLER: CONSTANT,
  YARD_SCHEDULES_PER_CALLER: CONSTANT,
  YARD_AUDIT_PER_USER: CONSTANT,
  YARD_CHAT_LINK_DAYS: CONSTANT,
  YARD_SESSION_MAX_PER_CALLER: CONSTANT,
  YARD_TOOLBOX_CONCURRENCY: CONSTANT,
  YARD_NATS_IMAGE: CONSTANT,
  YARD_REDIS_IMAGE: CONSTANT,
  YARD_SERVERS: "installed programs are used before containers; tests have YARD_TEST_CONTAINERS=1",
  YARD_AGENT: "use --agent, or yard config set agent",
  YARD_MODEL: "use --model, or yard config set model",
  YARD_COLOR: "use NO_COLOR or FORCE_COLOR, or yard config set color",
  YARD_API_KEY_FILE: "use YARD_API_KEY, or yard login",
  YARD_POLICY_ADMINS: "use YARD_ADMINS of the policy service",
  YARD_MCP_ADMINS: "use YARD_ADMINS of the broker",
  YARD_IMPORT_ADMINS: "use YARD_ADMINS of the importer",
  YARD_CHANNELS_CONSOLE_URL: "use YARD_HTTP_URL",
  YARD_SCHEDULES_ALLOW_PRIVATE_HOSTS: "use YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS",
  YARD_WORKSPACE_KEEP_HOURS: CONSTANT,
  YARD_AUDIT_VALUES_KEY_FILE: "use YARD_KEYS_DIR, a directory with audit-values.key",
  YARD_RUN_TOKEN_KEY_FILE: "use YARD_KEYS_DIR, a directory with run-token.jwk",
  YARD_MASKS_KEY_FILE: "use YARD_KEYS_DIR, a directory with masks.key",
  YARD_LAPTOP_TOKEN_FILE: "use YARD_KEYS_DIR, a directory with laptop.token",
  YARD_MCP_TOKEN_KEY: "use YARD_KEYS_DIR, a directory with mcp-logins.key",
  YARD_MCP_TOKEN_KEY_FILE: "use YARD_KEYS_DIR, a directory with mcp-logins.key",
  YARD_WEBHOOKS_KEY_FILE: "use YARD_KEYS_DIR, a directory with webhooks.key",
  YARD_REDIS_SENTINEL_PASSWORD_FILE: "use YARD_KEYS_DIR, a directory with sentinel.password",
  YARD_OIDC_CLIENT_SECRET_FILE: "use YARD_KEYS_DIR, a directory with oidc-client.secret",
  YARD_HTTP_TLS_CERT_FILE: "use YARD_HTTP_TLS_DIR, a directory with tls.crt and tls.key",
  YARD_HTTP_TLS_KEY_FILE: "use YARD_HTTP_TLS_DIR, a directory with tls.crt and tls.key",
  YARD_INSTANCE: "replicas are distinguished by host and process id",
  YARD_CONNECT_MS: CONSTANT,
  YARD_APPROVAL_WAIT_MS: "a rule of the policy sets it with within, for its calls",
  YARD_EXIT_WITH_PARENT: "use the argument --exit-with-parent",
  YARD_HEALTH_HOST: "use YARD_HEALTH_PORT with an address, such as 0.0.0.0:8080",
  YARD_HTTP_HOST: "use YARD_HTTP_PORT with an address, such as 0.0.0.0:8321",
  YARD_REDIS_PASSWORD_FILE:
    "name the user in YARD_REDIS_URL and use YARD_KEYS_DIR, a directory with USER.redis",
  YARD_CHANNELS_SECRETS_FILE: "use YARD_KEYS_DIR, a directory with channels.env",
  YARD_CHANNELS_LOOPBACK: "declare the account in channels.json",
  YARD_IMPORT_WATCH: "changed files are always imported",
  YARD_COMMAND_PATH: "use PATH of the toolbox",
  YARD_TOOLBOX_MODE: "use YARD_SANDBOX=full-control, or leave out limited-control, the default",
  YARD_RUNTIME_DIR: "use YARD_STATE_DIR, below which is runtimes",
  YARD_BWRAP_BIN: "use YARD_BIN_DIR, a directory with bwrap",
  YARD_NATS_SERVER_BIN: "use YARD_BIN_DIR, a directory with nats-server",
  YARD_REDIS_SERVER_BIN: "use YARD_BIN_DIR, a directory with redis-server or valkey-server",
  YARD_SERVER: "use YARD_CONTEXT, which takes the address of a gateway, too",
};

/** The removed settings that an environment still sets, as problems that name the replacement. An empty variable counts as unset. */
export function removedSettings(
  env: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly rule: string; readonly value: null }[] {
  return Object.entries(REMOVED_SETTINGS)
    .filter(([name]) => (env[name] ?? "") !== "")
    .map(([name, replacement]) => ({ name, rule: `was removed: ${replacement}`, value: null }));
}
