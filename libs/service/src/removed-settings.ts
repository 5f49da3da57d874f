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
};

/** The removed settings that an environment still sets, as problems that name the replacement. An empty variable counts as unset. */
export function removedSettings(
  env: Readonly<Record<string, string | undefined>>,
): { readonly name: string; readonly rule: string; readonly value: null }[] {
  return Object.entries(REMOVED_SETTINGS)
    .filter(([name]) => (env[name] ?? "") !== "")
    .map(([name, replacement]) => ({ name, rule: `was removed: ${replacement}`, value: null }));
}
