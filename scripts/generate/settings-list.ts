/** The list that docs/reference/settings.md is written from: the meaning of each setting, by topic. */
export const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Process: {
    YARD_LOG_LEVEL: "`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`",
    YARD_HEALTH_PORT:
      "where health and metrics are served: a port of loopback or `address:port`; 0 is any free one",
    YARD_DRAIN_MS: "time for an orderly stop; keep it below the orchestrator's grace period",
    YARD_KEYS_DIR:
      "the directory of `yard keys init`: [keys](#forms), of which a service reads its own",
    YARD_RESTARTS:
      "`1`: the toolbox may [restart](../operations.md#restarts-from-outside) this process",
    YARD_SERVICES: "the services of one process, by NATS user, with commas",
    YARD_PRIVATE_PATHS:
      "more paths that programs in a sandbox may not see, as in `PATH`; `yard dev` sets it",
    YARD_BIN_DIR:
      "the directory searched first for `bwrap`, and by `yard dev` for `nats-server` and `redis-server`",
    YARD_STATE_DIR:
      "child processes of the broker and runs of coding CLIs, for one user and installation; for `yard dev` its whole state",
  },
  "NATS and Redis": {
    YARD_NATS_URL: "one or more servers, with commas",
    YARD_NATS_NKEY_FILE: "file with the NKey seed, read again at each connect",
    YARD_REDIS_URL:
      "`redis://`, `rediss://`, `redis+sentinel://` or `redis+cluster://`: [forms](#forms)",
    YARD_REDIS_WAIT_REPLICAS:
      "replicas of Redis that must have an entry of a journal; none in a cluster",
    YARD_OWNER_STORAGE_MIB:
      "what one owner may store in Redis ([when Redis is full](../runbooks.md#when-redis-is-full))",
  },
  Audit: {
    YARD_AUDIT: "what is [recorded](../audit.md): `on`, `strict` or `off`",
    YARD_AUDIT_VALUES:
      "how [arguments](../audit.md#values-of-arguments) are recorded: `digests`, `encrypted` or `clear`",
  },
  "Policy and approvals": {
    YARD_POLICY_FILE: "the policy, a YAML file or a directory of them",
    YARD_ADMINS:
      "NATS users that may change rules, MCP servers or imports of the service that reads it, with commas",
    YARD_ISSUERS_FILE:
      "YAML file of [issuers](../../decisions/041-callers-over-http.md) whose JWTs the gateway accepts",
    YARD_USER_SESSION_MS:
      "how long a browser [stays signed in](../../decisions/046-sessions-of-browsers.md)",
    YARD_APPROVERS:
      "NATS users that decide about waiting calls, with commas; `approvers` of a policy may narrow it",
    YARD_APPROVE_OWN:
      "[own calls](../approvals.md#who-decides) that an approver may approve: `none`, `runs` or `all`",
  },
  "MCP servers": {
    YARD_MCP_SERVERS_FILE: "[the server file](../mcp-servers.md#the-server-file)",
    YARD_MCP_SANDBOX:
      "[isolation](../mcp-servers.md#isolation-of-stdio-servers): `require`, `prefer` or `off`",
    YARD_MCP_ALLOW_PRIVATE_HOSTS:
      "`loopback`, `private`, addresses and networks that servers may be at",
  },
  "Built-in tools": {
    YARD_WORKSPACE: "the root that MCP servers get, and the directory of all runs",
    YARD_WORKSPACES_DIR:
      "where runs get directories of their own instead; the toolbox needs one of the two",
    YARD_WORKSPACE_SCOPE:
      "`session`: the runs of one session share a directory; `run`: they do not",
    YARD_WORKSPACE_MB: "what the directory of a run or session may hold",
    YARD_TOOLS_FILE:
      "[`tools.json`](../coding-agents.md#sessions): which sessions agents see and start",
    YARD_CONFIG_DIR:
      "the project whose files `gateway_*` read and change; without it they are not offered",
    YARD_WEB_ALLOW_PRIVATE_HOSTS:
      "`loopback`, `private`, addresses and networks that `web_fetch` may reach",
    YARD_SANDBOX:
      "`require`: no start without one; `auto`: no commands without; `off`: commands without; `full-control`: files outside, too",
    YARD_SANDBOX_READABLE: "more directories that commands may read, separated as in `PATH`",
    YARD_SANDBOX_NETWORK:
      "`1`: commands in the sandbox may use the network, private addresses included",
    YARD_COMMAND_MEMORY_MB: "memory of one command",
  },
  "Skills and agents": {
    YARD_SKILL_ROOTS:
      "absolute directories, separated as in `PATH`; all are imported at start, and no others ever",
    YARD_IMPORTED_AGENT_ROLES:
      "roles of agents that clients send, by sender: `team-a:planner, *:reader`",
    YARD_IMPORT_STRICT:
      "`1`: not ready before an import found every file usable; the chart sets it",
    YARD_SCAN_SUPPRESSIONS:
      "YAML file of [findings](../skills.md#scanner) that the operator accepts; read at start",
    YARD_SCAN_INDICATORS: "YAML file of bad hosts and files known to the operator; read at start",
  },
  "Runs and sessions": {
    YARD_RUNNER_SLOTS: "runs in work at a time",
    YARD_RUN_TIMEOUT_MS: "time limit of runs that ask for none",
    YARD_RUN_ON_LIMIT: "what a limit does where no command states it: `fail` or `pause`",
    YARD_RUN_KEEP_DAYS: "how long a run is stored after its end",
    YARD_RUN_ARCHIVE_MS:
      "time after the end of a run at which its journal leaves Redis; 0 keeps it there",
    YARD_RUN_ARCHIVE_URL:
      "`s3://bucket/prefix?region=…&endpoint=…` for these journals; without it JetStream",
    YARD_TEAM_LIMITS_FILE: "JSON file of the [limits of teams](../runs.md#teams)",
    YARD_FILES_MIB: "files that one owner may have stored",
    YARD_SESSION_IDLE_MS: "time without use after which a session ends",
    YARD_MODELS_FILE: "JSON file of [model providers](../models.md)",
  },
  Channels: {
    YARD_CHANNELS_FILE: "[`channels.json`](../channels.md) with the accounts",
    YARD_CHANNELS_ROOTS:
      "directories that attachments may be taken from, as in `PATH`; none: no files",
    YARD_CHANNELS_ALLOW_PRIVATE_HOSTS:
      "`loopback`, `private`, addresses and networks that attachments and webhooks may be at",
  },
  Schedules: {
    YARD_SCHEDULES_AGENT: "the agent of jobs that name none; without it each job has to name one",
    YARD_TRIGGERS_FILE:
      "the [triggers.yaml](../schedules.md#triggers); a trigger that is no longer in it loses its job",
  },
  Gateway: {
    YARD_HTTP_PORT:
      "a port of loopback; or `address:port`, which needs `YARD_HTTP_HOSTS`; `http ready` in the log has the free one of 0",
    YARD_HTTP_HOSTS:
      "names of the gateway beside those of loopback, with commas; others are refused",
    YARD_HTTP_ORIGINS: "origins of other pages that may use MCP from a browser, with commas",
    YARD_HTTP_URL:
      "how people reach the gateway and its console, for links and behind TLS; over https, cookies are Secure",
    YARD_HTTP_TLS_DIR:
      "PEM files `tls.crt`, with its chain, and `tls.key`, read again when they change: TLS alone is served",
    YARD_HTTP_TRUSTED_PROXIES:
      "proxies in front that add to `X-Forwarded-For`; at 0 callers share the limits of their proxy",
    YARD_HTTP_REQUESTS_PER_MINUTE: "requests of one credential, over all replicas",
    YARD_OIDC_ISSUER:
      "the provider at which people sign in, with `/auth/callback` at `YARD_HTTP_URL`",
    YARD_OIDC_CLIENT_ID:
      "the gateway's name at the provider, and `clientId` of `YARD_ISSUERS_FILE`",
    YARD_OIDC_SCOPES: "the scopes that are requested; the claims must be in the ID token",
    YARD_CONSOLE_DIR: "the built console, served under `/`; `yard dev` and the image set it",
    YARD_A2A_AGENT: "the agent whose A2A card is at the root",
    YARD_HOOKS_FILE: "[`hooks.json`](../http.md#webhooks): what starts a run by a webhook",
    YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS:
      "`loopback`, `private`, addresses and networks that webhooks of events and jobs may be sent to",
  },
  "Command line": {
    YARD_API_KEY: "the key for the gateway, in place of what `yard login` stored",
    YARD_USER: "the NATS user",
    YARD_PROJECT: "the project, in place of the nearest directory upwards that is one",
    YARD_CONTEXT:
      "the installation, as `--context`, in place of that of `yard config`; or the address of a gateway, as `--server`",
    YARD_STREAM_REPLICAS: "copies of each stream that `yard streams ensure` makes, as `--replicas`",
  },
};

/** Programs that read a setting beside the services whose schema has it. */
export const ALSO_READ_BY: Readonly<Record<string, readonly string[]>> = {
  YARD_LOG_LEVEL: ["yard"],
  YARD_SERVICES: ["switchyard"],
  YARD_PRIVATE_PATHS: ["broker", "runner", "toolbox"],
  YARD_BIN_DIR: ["broker", "runner", "yard"],
  YARD_STATE_DIR: ["yard"],
  YARD_NATS_URL: ["yard"],
  YARD_NATS_NKEY_FILE: ["yard"],
  YARD_REDIS_URL: ["yard"],
  YARD_MCP_SANDBOX: ["yard"],
  YARD_WORKSPACE: ["broker"],
  YARD_SANDBOX: ["yard"],
  YARD_SCAN_SUPPRESSIONS: ["yard"],
  YARD_SCAN_INDICATORS: ["yard"],
};

/** Defaults that no schema has, or that depend on the machine. */
export const DEFAULTS: Readonly<Record<string, string>> = {
  YARD_SERVICES: "`all`",
  YARD_STATE_DIR: "`~/.local/state/switchyard`; for `yard dev` `.switchyard` of the project",
  YARD_OWNER_STORAGE_MIB: "half of `maxmemory`",
  YARD_A2A_AGENT: "the caller's only one",
  YARD_USER: "`cli`; `admin` for `streams ensure`, `auditor` for `audit`",
};
