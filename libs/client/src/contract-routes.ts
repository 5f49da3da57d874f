/** Written by scripts/generate.ts from the gateway's route table. */

export interface ContractRoute {
  readonly method: string;
  /** Below `/api/v1`. */
  readonly path: string;
  /** The field of the request that is the whole body. */
  readonly body?: string;
  /** Names in the path that are other ones in the request. */
  readonly names?: Readonly<Record<string, string>>;
  /** The contract's codes of errors that have another one over HTTP, by that one. */
  readonly codes?: Readonly<Record<string, string>>;
}

/** The routes by the name of the contract; a caller takes the first whose path it can fill in. */

export const CONTRACT_ROUTES: Readonly<Record<string, readonly ContractRoute[]>> = {
  "runs.list": [{ method: "GET", path: "/runs" }],
  "run.start": [{ method: "POST", path: "/runs" }],
  "runs.totals": [{ method: "GET", path: "/runs/totals" }],
  "runs.dead": [{ method: "GET", path: "/runs/dead" }],
  "runs.redrive": [{ method: "POST", path: "/runs/dead/{letterId}/redrive" }],
  "runs.questions": [{ method: "GET", path: "/runs/questions" }],
  "runs.delete-ended": [{ method: "POST", path: "/runs/delete-ended" }],
  "runs.get": [{ method: "GET", path: "/runs/{runId}" }],
  "runs.delete": [{ method: "DELETE", path: "/runs/{runId}" }],
  "runs.recording": [{ method: "GET", path: "/runs/{runId}/recording" }],
  "runs.cancel": [{ method: "POST", path: "/runs/{runId}/cancel" }],
  "run.retry": [{ method: "POST", path: "/runs/{runId}/retry" }],
  "run.resume": [{ method: "POST", path: "/runs/{runId}/resume" }],
  "run.steer": [{ method: "POST", path: "/runs/{runId}/steer" }],
  "run.fork": [{ method: "POST", path: "/runs/{runId}/fork" }],
  "runs.answer": [{ method: "POST", path: "/runs/{runId}/answers" }],
  "files.put": [{ method: "POST", path: "/files" }],
  "files.get": [{ method: "GET", path: "/files/{ref}" }],
  "sessions.list": [{ method: "GET", path: "/sessions" }],
  "sessions.get": [{ method: "GET", path: "/sessions/{session}" }],
  "sessions.patch": [{ method: "PATCH", path: "/sessions/{session}" }],
  "sessions.delete": [{ method: "DELETE", path: "/sessions/{session}" }],
  "sessions.history": [{ method: "GET", path: "/sessions/{session}/history" }],
  "sessions.send": [{ method: "POST", path: "/sessions/{session}/messages" }],
  "sessions.reset": [{ method: "POST", path: "/sessions/{session}/reset" }],
  "sessions.claim": [{ method: "POST", path: "/sessions/{session}/claim" }],
  "schedules.list": [{ method: "GET", path: "/schedules" }],
  "schedules.add": [{ method: "POST", path: "/schedules" }],
  "schedules.status": [{ method: "GET", path: "/schedules/status" }],
  "schedules.runs": [
    { method: "GET", path: "/schedules/runs" },
    { method: "GET", path: "/schedules/{jobId}/runs" },
  ],
  "schedules.wake": [{ method: "POST", path: "/schedules/wake" }],
  "schedules.update": [{ method: "PATCH", path: "/schedules/{jobId}", body: "patch" }],
  "schedules.remove": [{ method: "DELETE", path: "/schedules/{jobId}" }],
  "schedules.run": [{ method: "POST", path: "/schedules/{jobId}/run" }],
  "schedules.get": [{ method: "GET", path: "/schedules/{jobId}" }],
  "channels.accounts": [{ method: "GET", path: "/channels/accounts" }],
  "channels.capabilities": [
    { method: "GET", path: "/channels/{channel}/{accountId}/capabilities" },
  ],
  "channels.check": [{ method: "POST", path: "/channels/{channel}/{accountId}/check" }],
  "channels.send": [{ method: "POST", path: "/channels/messages" }],
  "channels.read": [{ method: "POST", path: "/channels/messages/read" }],
  "channels.submit": [{ method: "POST", path: "/channels/{channel}/submit" }],
  "approvals.list": [{ method: "GET", path: "/approvals" }],
  "approvals.get": [{ method: "GET", path: "/approvals/{id}" }],
  "approvals.approve": [{ method: "POST", path: "/approvals/{id}/approve" }],
  "approvals.deny": [{ method: "POST", path: "/approvals/{id}/deny" }],
  "approvals.cancel": [{ method: "POST", path: "/approvals/{id}/cancel" }],
  "chat-links.create": [{ method: "POST", path: "/chat-links" }],
  "chat-links.list": [{ method: "GET", path: "/chat-links" }],
  "chat-links.revoke": [{ method: "DELETE", path: "/chat-links/{id}" }],
  "grants.list": [{ method: "GET", path: "/grants" }],
  "grants.revoke": [{ method: "DELETE", path: "/grants/{id}" }],
  "mcp.tools": [
    { method: "GET", path: "/tools" },
    { method: "GET", path: "/mcp/tools" },
    {
      method: "GET",
      path: "/mcp/tools/{server}",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "toolbox.tools": [{ method: "GET", path: "/tools/builtin" }],
  "toolbox.call": [{ method: "POST", path: "/tools/builtin/{tool}/call" }],
  "toolbox.cancel": [{ method: "POST", path: "/tools/builtin/cancel" }],
  "mcp.call": [{ method: "POST", path: "/tools/mcp/{server}/{tool}/call" }],
  "mcp.questions": [{ method: "GET", path: "/mcp/questions" }],
  "mcp.answer": [{ method: "POST", path: "/mcp/questions/{id}/answer" }],
  "mcp.secrets.list": [{ method: "GET", path: "/mcp/secrets" }],
  "mcp.secrets.set": [{ method: "PUT", path: "/mcp/secrets/{name}" }],
  "mcp.secrets.delete": [{ method: "DELETE", path: "/mcp/secrets/{name}" }],
  "mcp.servers": [{ method: "GET", path: "/mcp/servers" }],
  "mcp.add": [
    {
      method: "POST",
      path: "/mcp/servers",
      body: "server",
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.get": [
    {
      method: "GET",
      path: "/mcp/servers/{id}",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.update": [
    {
      method: "PATCH",
      path: "/mcp/servers/{id}",
      body: "changes",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
    {
      method: "PUT",
      path: "/mcp/servers/{id}",
      body: "changes",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.remove": [
    {
      method: "DELETE",
      path: "/mcp/servers/{id}",
      names: { id: "server" },
      codes: {
        DISCONNECT_ERROR: "owner_unavailable",
        NOT_FOUND: "unknown_server",
        INVALID_INPUT: "invalid_request",
      },
    },
  ],
  "mcp.connect": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/connect",
      names: { id: "server" },
      codes: {
        CONNECTION_ERROR: "owner_unavailable",
        NOT_FOUND: "unknown_server",
        INVALID_INPUT: "invalid_request",
      },
    },
  ],
  "mcp.disconnect": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/disconnect",
      names: { id: "server" },
      codes: {
        DISCONNECT_ERROR: "owner_unavailable",
        NOT_FOUND: "unknown_server",
        INVALID_INPUT: "invalid_request",
      },
    },
  ],
  "mcp.enable": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/enable",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.reset": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/reset",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.logs": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/logs",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.refresh": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/refresh",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.pins.list": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/pins",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.pins.approve": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/pins/approve",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.pins.block": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/pins/block",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.pins.diff": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/pins/{tool}/diff",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.login.begin": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/login",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.login.finish": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/login/finish",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.logout": [
    {
      method: "DELETE",
      path: "/mcp/servers/{id}/login",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.messages": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/messages",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.loglevel": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/log-level",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.resources": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/resources",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.templates": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/resource-templates",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.read": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/resources/read",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.prompts": [
    {
      method: "GET",
      path: "/mcp/servers/{id}/prompts",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "mcp.prompt": [
    {
      method: "POST",
      path: "/mcp/servers/{id}/prompts/{name}",
      names: { id: "server" },
      codes: { NOT_FOUND: "unknown_server", INVALID_INPUT: "invalid_request" },
    },
  ],
  "skills.list": [{ method: "GET", path: "/skills" }],
  "skills.upload": [{ method: "POST", path: "/skills" }],
  "skills.unpack": [{ method: "POST", path: "/skills/archive" }],
  "skills.import": [{ method: "POST", path: "/skills/import" }],
  "skills.check": [{ method: "POST", path: "/skills/check" }],
  "skills.withheld": [{ method: "GET", path: "/skills/withheld" }],
  "skills.trust": [{ method: "POST", path: "/skills/trust" }],
  "skills.catalogue": [{ method: "GET", path: "/skills/catalogue" }],
  "skills.match": [{ method: "GET", path: "/skills/matches" }],
  "skills.manifests": [{ method: "GET", path: "/skills/manifests" }],
  "skills.get": [{ method: "GET", path: "/skills/{name}" }],
  "skills.remove": [{ method: "DELETE", path: "/skills/{name}" }],
  "skills.versions": [{ method: "GET", path: "/skills/{name}/versions" }],
  "skills.diff": [{ method: "GET", path: "/skills/{name}/diff" }],
  "skills.file": [{ method: "GET", path: "/skills/{name}/file" }],
  "skills.render": [{ method: "GET", path: "/skills/{name}/instructions" }],
  "skills.rollback": [{ method: "POST", path: "/skills/{name}/rollback" }],
  "agents.list": [{ method: "GET", path: "/agents" }],
  "agents.upload": [{ method: "POST", path: "/agents" }],
  "agents.unpack": [{ method: "POST", path: "/agents/archive" }],
  "agents.check": [{ method: "POST", path: "/agents/check" }],
  "agents.get": [{ method: "GET", path: "/agents/{name}" }],
  "agents.remove": [{ method: "DELETE", path: "/agents/{name}" }],
  "agents.versions": [{ method: "GET", path: "/agents/{name}/versions" }],
  "agents.diff": [{ method: "GET", path: "/agents/{name}/diff" }],
  "toolbox.memories": [
    { method: "GET", path: "/agents/{name}/memories", names: { name: "agent" } },
  ],
  "agents.rollback": [{ method: "POST", path: "/agents/{name}/rollback" }],
  "policy.explain": [{ method: "POST", path: "/policy/explain" }],
  "policy.validate": [{ method: "POST", path: "/policy/validate" }],
  "policy.replay": [{ method: "POST", path: "/policy/replay" }],
  "policy.who-can": [{ method: "POST", path: "/policy/who-can" }],
  "policy.rules": [{ method: "GET", path: "/policy/rules" }],
  "policy.versions": [{ method: "GET", path: "/policy/versions" }],
  "policy.texts": [{ method: "GET", path: "/policy/texts" }],
  "policy.activate": [{ method: "POST", path: "/policy/activate" }],
  "policy.rollback": [{ method: "POST", path: "/policy/rollback" }],
  "policy.stops": [{ method: "GET", path: "/policy/stops" }],
  "policy.stop": [{ method: "POST", path: "/policy/stops" }],
  "policy.resume": [{ method: "POST", path: "/policy/stops/resume" }],
  "policy.keys": [{ method: "GET", path: "/policy/token-keys" }],
  "policy.audit.list": [{ method: "GET", path: "/audit" }],
  "policy.audit.verify": [{ method: "GET", path: "/audit/verify" }],
  "policy.user-keys.list": [{ method: "GET", path: "/keys" }],
  "policy.user-keys.create": [{ method: "POST", path: "/keys" }],
  "policy.user-keys.rotate": [{ method: "POST", path: "/keys/{id}/rotate" }],
  "policy.user-keys.revoke": [{ method: "DELETE", path: "/keys/{id}" }],
  "policy.user-session.list": [{ method: "GET", path: "/user-sessions" }],
  "policy.user-session.revoke": [{ method: "DELETE", path: "/user-sessions/{id}" }],
  "webhooks.list": [{ method: "GET", path: "/webhooks" }],
  "webhooks.create": [{ method: "POST", path: "/webhooks" }],
  "webhooks.get": [{ method: "GET", path: "/webhooks/{id}" }],
  "webhooks.update": [{ method: "PATCH", path: "/webhooks/{id}" }],
  "webhooks.remove": [{ method: "DELETE", path: "/webhooks/{id}" }],
  "webhooks.redeliver": [{ method: "POST", path: "/webhooks/{id}/redeliver" }],
  "webhooks.hooks": [{ method: "GET", path: "/hooks" }],
  "push.get": [{ method: "GET", path: "/push" }],
  "push.set": [{ method: "PUT", path: "/push" }],
  "push.remove": [{ method: "DELETE", path: "/push" }],
  "models.list": [{ method: "GET", path: "/models" }],
};

/** Fields of requests that only services set, and that are not taken over HTTP. */

export const SERVICE_FIELDS: readonly string[] = [
  "token",
  "epoch",
  "progress",
  "onBehalfOf",
  "sender",
];

/** The field of a request whose value is sent as `If-Match`. */

export const VERSION_FIELD = "ifVersion";
