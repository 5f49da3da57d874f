import { listMemories } from "@switchyard/contracts/toolbox/agent-memory";
import * as agentStore from "@switchyard/contracts/skill-importer/agent-store";
import * as agents from "@switchyard/contracts/skill-importer/agents";
import { listAudit, verifyAudit } from "@switchyard/contracts/policy/audit-queries";
import * as approvals from "@switchyard/contracts/policy/approvals";
import * as channels from "@switchyard/contracts/channels/channels";
import * as chatLinks from "@switchyard/contracts/policy/chat-links";
import type { Command, Rpc } from "@switchyard/contracts/define";
import { REQUEST_LIMITS } from "@switchyard/contracts/json-limits";
import * as files from "@switchyard/contracts/agent-runner/files";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import * as mcpAuth from "@switchyard/contracts/mcp-broker/mcp-auth";
import * as mcpFeatures from "@switchyard/contracts/mcp-broker/mcp-features";
import * as mcpPins from "@switchyard/contracts/mcp-broker/mcp-pins";
import * as mcpQuestions from "@switchyard/contracts/mcp-broker/mcp-questions";
import * as mcpSecrets from "@switchyard/contracts/mcp-broker/mcp-secrets";
import * as mcpServers from "@switchyard/contracts/mcp-broker/mcp-servers";
import { listModels } from "@switchyard/contracts/agent-runner/models";
import * as budgets from "@switchyard/contracts/policy/policy-budgets";
import * as bundles from "@switchyard/contracts/policy/policy-bundles";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { forkRun, resumeRun, steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import { getRecording } from "@switchyard/contracts/agent-runner/run-recordings";
import { deleteRun, deleteRuns } from "@switchyard/contracts/agent-runner/run-deletion";
import { totalRuns } from "@switchyard/contracts/agent-runner/run-totals";
import * as waits from "@switchyard/contracts/agent-runner/run-waits";
import * as runs from "@switchyard/contracts/agent-runner/runs";
import { claimSession } from "@switchyard/contracts/agent-runner/session-claims";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import * as sessions from "@switchyard/contracts/agent-runner/sessions";
import * as skillCatalogue from "@switchyard/contracts/skill-importer/skill-catalogue";
import * as skillStore from "@switchyard/contracts/skill-importer/skill-store";
import * as skills from "@switchyard/contracts/skill-importer/skills";
import * as schedules from "@switchyard/contracts/scheduler/schedules";
import * as toolbox from "@switchyard/contracts/toolbox/toolbox";
import * as userSessions from "@switchyard/contracts/policy/user-sessions";
import * as users from "@switchyard/contracts/policy/user-tokens";
import type { Codes } from "../problems/problem.ts";
import * as push from "./push-operations.ts";
import * as webhooks from "./webhook-operations.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** A request over HTTP and the contract that it becomes. */
export interface Route {
  readonly method: Method;
  /** The path below `/api/v1`. A `{name}` is a token of the contract's subject or a field of its request. */
  readonly path: string;
  readonly contract: Rpc | Command;
  /** The id of the operation, where the contract's name is no verb or has several routes. */
  readonly id?: string;
  /** The status of a success. */
  readonly status: number;
  /** The field of the request that the whole body becomes; without it the body's fields are the request's. */
  readonly body?: string;
  /** Names in the path or the body, with the different names that they have in the request. */
  readonly names?: Readonly<Record<string, string>>;
  /** Fields of the request whose text is changed, such as an id in the form of an existing client. */
  readonly texts?: Readonly<Record<string, (text: string) => string>>;
  /** Fields of the request with the values that they have when they are left out. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** The field that an `Idempotency-Key` sets, so that a repeat is the same run or call. */
  readonly idempotent?: string;
  /** Without the header that field is left out: no caller could request the stored result, and storing it takes time. */
  readonly isOnlyKeyed?: true;
  /** The path in the answer to the version of the object, for `ETag`. */
  readonly version?: string;
  /** The limit in bytes, where it is not the default of 1 MiB. */
  readonly bodyLimit?: number;
  /** True for another path of an operation, for clients of other systems: openapi.json and generated clients do not have it. */
  readonly isAlias?: true;
  /** Status and code of errors for which a route's existing clients expect other values. */
  readonly codes?: Codes;
}

type More = Partial<Omit<Route, "method" | "path" | "contract">>;

const MIB = 1024 * 1024;
const UPLOAD = { status: 201, bodyLimit: REQUEST_LIMITS.maxBytes } as const;
const CREATED = { status: 201 } as const;
const CALL = { idempotent: "callId", isOnlyKeyed: true } as const;
const JOB = { version: "job.updatedAtMs" } as const;
const SESSION = { version: "session.version" } as const;
const WEBHOOK = { version: "webhook.version" } as const;
const ACTIVE = { version: "active.version" } as const;

/** AR12. */
const SERVER_CODES: Codes = {
  invalid_request: [400, "INVALID_INPUT", "id, name, and transport are required"],
  invalid_config: [400, "INVALID_INPUT"],
  unknown_server: [404, "NOT_FOUND"],
};
const server = { names: { id: "server" }, codes: SERVER_CODES } as const;
const CHANGED_SERVER = { ...server, body: "changes", version: "version" } as const;
const NEW_SERVER = { status: 201, body: "server", codes: SERVER_CODES } as const;
const connect = {
  ...server,
  codes: { ...SERVER_CODES, owner_unavailable: [500, "CONNECTION_ERROR"] },
} as const;
const disconnect = {
  ...server,
  codes: { ...SERVER_CODES, owner_unavailable: [500, "DISCONNECT_ERROR"] },
} as const;
/** B28. */
const OPENCLAW_CODES: Codes = {
  directory_not_allowed: [400, "IMPORT_ERROR"],
  directory_missing: [400, "IMPORT_ERROR"],
  unknown_skill: [404, "NOT_FOUND"],
};
const openclaw = {
  names: { id: "name" },
  texts: { name: (id: string) => id.replace(/^openclaw-skill-/, "") },
  codes: OPENCLAW_CODES,
} as const;
/** A path may name the skill's file. */
const OF_SKILL = {
  directory: (path: string) => path.replace(/[\\/](?:SKILL|skill|skills)\.md$/, ""),
};

/** Everything under `/api/v1` but the streams of events. Validation, errors, roles and openapi.json follow from it. */
export const routes: readonly Route[] = [
  get("/runs", runs.listRuns),
  post("/runs", runs.startRun, { status: 202, idempotent: "runId" }),
  get("/runs/totals", totalRuns, { id: "getRunTotals" }),
  get("/runs/dead", runs.listDeadRuns),
  post("/runs/dead/{letterId}/redrive", runs.redriveCommand, { id: "redriveRun" }),
  get("/runs/questions", waits.listQuestions, { id: "listRunQuestions" }),
  post("/runs/delete-ended", deleteRuns, { id: "deleteRuns" }),
  get("/runs/{runId}", runs.getRun),
  del("/runs/{runId}", deleteRun),
  get("/runs/{runId}/recording", getRecording),
  post("/runs/{runId}/cancel", runs.requestCancel, { id: "cancelRun" }),
  post("/runs/{runId}/retry", runs.retryRun, { status: 202 }),
  post("/runs/{runId}/resume", resumeRun, { status: 202 }),
  post("/runs/{runId}/steer", steerRun, { status: 202 }),
  post("/runs/{runId}/fork", forkRun, { status: 202, idempotent: "newRunId" }),
  post("/runs/{runId}/answers", waits.answerQuestion, { id: "answerRunQuestion" }),

  post("/files", files.putFile, CREATED),
  get("/files/{ref}", files.getFile),

  get("/sessions", sessions.listSessions),
  get("/sessions/{session}", sessions.getSession, SESSION),
  patch("/sessions/{session}", sessions.patchSession, SESSION),
  del("/sessions/{session}", sessions.deleteSession),
  get("/sessions/{session}/history", sessions.sessionHistory, { id: "getSessionHistory" }),
  post("/sessions/{session}/messages", sessions.sendToSession, { idempotent: "runId" }),
  post("/sessions/{session}/reset", sessions.resetSession),
  post("/sessions/{session}/claim", claimSession),

  get("/schedules", schedules.listSchedules),
  post("/schedules", schedules.addSchedule, {
    ...CREATED,
    ...JOB,
    idempotent: "idempotencyKey",
    isOnlyKeyed: true,
  }),
  get("/schedules/status", schedules.scheduleStatus, { id: "getScheduleStatus" }),
  get("/schedules/runs", schedules.scheduleRuns, { id: "listScheduleRuns" }),
  post("/schedules/wake", schedules.wakeSchedules),
  patch("/schedules/{jobId}", schedules.updateSchedule, { ...JOB, body: "patch" }),
  del("/schedules/{jobId}", schedules.removeSchedule),
  post("/schedules/{jobId}/run", schedules.runSchedule),
  get("/schedules/{jobId}", schedules.getSchedule, JOB),
  get("/schedules/{jobId}/runs", schedules.scheduleRuns, { id: "listRunsOfSchedule" }),

  get("/channels/accounts", channels.listChannelAccounts),
  get("/channels/{channel}/{accountId}/capabilities", channels.channelCapabilities, {
    id: "getChannelCapabilities",
  }),
  post("/channels/{channel}/{accountId}/check", channels.checkChannelAccount),
  post("/channels/messages", channels.sendChannelMessage, { idempotent: "idempotencyKey" }),
  post("/channels/messages/read", channels.readChannelMessages),
  post("/channels/{channel}/submit", channels.submitChannelMessage),

  get("/approvals", approvals.listApprovals),
  get("/approvals/{id}", approvals.getApproval),
  post("/approvals/{id}/approve", approvals.approveCall),
  post("/approvals/{id}/deny", approvals.denyCall),
  post("/approvals/{id}/cancel", approvals.cancelApproval),
  post("/chat-links", chatLinks.createChatLink),
  get("/chat-links", chatLinks.listChatLinks),
  del("/chat-links/{id}", chatLinks.revokeChatLink),
  get("/grants", listGrants),
  del("/grants/{id}", revokeGrant),

  get("/tools", listTools),
  get("/tools/builtin", toolbox.listBuiltins),
  post("/tools/builtin/{tool}/call", toolbox.callBuiltin, CALL),
  post("/tools/builtin/cancel", toolbox.cancelBuiltin),
  post("/tools/mcp/{server}/{tool}/call", callTool, CALL),
  get("/mcp/tools", listTools, { id: "listMcpTools" }),
  get("/mcp/tools/{server}", listTools, { ...server, id: "listToolsOfServer" }),
  get("/mcp/questions", mcpQuestions.listQuestions, { id: "listServerQuestions" }),
  post("/mcp/questions/{id}/answer", mcpQuestions.answerQuestion, { id: "answerServerQuestion" }),

  get("/mcp/secrets", mcpSecrets.listServerSecrets),
  put("/mcp/secrets/{name}", mcpSecrets.setServerSecret),
  del("/mcp/secrets/{name}", mcpSecrets.deleteServerSecret),

  get("/mcp/servers", mcpServers.listServers),
  post("/mcp/servers", mcpServers.addServer, NEW_SERVER),
  get("/mcp/servers/{id}", mcpServers.getServer, { ...server, version: "version" }),
  patch("/mcp/servers/{id}", mcpServers.updateServer, CHANGED_SERVER),
  put("/mcp/servers/{id}", mcpServers.updateServer, { ...CHANGED_SERVER, id: "putServer" }),
  del("/mcp/servers/{id}", mcpServers.removeServer, disconnect),
  post("/mcp/servers/{id}/connect", mcpServers.connectServer, connect),
  post("/mcp/servers/{id}/disconnect", mcpServers.disconnectServer, disconnect),
  post("/mcp/servers/{id}/enable", mcpServers.enableServer, server),
  post("/mcp/servers/{id}/reset", mcpServers.resetServer, server),
  get("/mcp/servers/{id}/logs", mcpServers.serverLogs, { ...server, id: "getServerLogs" }),
  post("/mcp/servers/{id}/refresh", mcpPins.refreshTools, server),
  get("/mcp/servers/{id}/pins", mcpPins.listPins, server),
  post("/mcp/servers/{id}/pins/approve", mcpPins.approvePins, server),
  post("/mcp/servers/{id}/pins/block", mcpPins.blockPins, server),
  get("/mcp/servers/{id}/pins/{tool}/diff", mcpPins.diffPin, server),
  post("/mcp/servers/{id}/login", mcpAuth.beginLogin, server),
  post("/mcp/servers/{id}/login/finish", mcpAuth.finishLogin, server),
  del("/mcp/servers/{id}/login", mcpAuth.logout, { ...server, id: "endLogin" }),
  get("/mcp/servers/{id}/messages", mcpFeatures.listMessages, {
    ...server,
    id: "listServerMessages",
  }),
  post("/mcp/servers/{id}/log-level", mcpFeatures.setLogLevel, {
    ...server,
    id: "setServerLogLevel",
  }),
  get("/mcp/servers/{id}/resources", mcpFeatures.listResources, server),
  get("/mcp/servers/{id}/resource-templates", mcpFeatures.listResourceTemplates, server),
  post("/mcp/servers/{id}/resources/read", mcpFeatures.readResource, server),
  get("/mcp/servers/{id}/prompts", mcpFeatures.listPrompts, server),
  post("/mcp/servers/{id}/prompts/{name}", mcpFeatures.getPrompt, server),

  // The same under the paths of openwork's clients.
  get("/mcp", mcpServers.listServers, { isAlias: true }),
  post("/mcp", mcpServers.addServer, { ...NEW_SERVER, isAlias: true }),
  get("/mcp/{id}", mcpServers.getServer, { ...server, version: "version", isAlias: true }),
  put("/mcp/{id}", mcpServers.updateServer, { ...CHANGED_SERVER, isAlias: true }),
  del("/mcp/{id}", mcpServers.removeServer, { ...disconnect, isAlias: true }),
  post("/mcp/{id}/connect", mcpServers.connectServer, { ...connect, isAlias: true }),
  post("/mcp/{id}/disconnect", mcpServers.disconnectServer, { ...disconnect, isAlias: true }),
  get("/mcp/{id}/tools", listTools, { ...server, isAlias: true }),

  get("/skills", skills.listSkills),
  post("/skills", skillStore.uploadSkills, UPLOAD),
  post("/skills/archive", skillStore.unpackSkills, CREATED),
  post("/skills/import", skills.importSkills, CREATED),
  post("/skills/check", skills.checkSkills),
  get("/skills/withheld", skillStore.listWithheld, { id: "listWithheldSkills" }),
  post("/skills/trust", skillStore.trustSkill),
  get("/skills/catalogue", skillCatalogue.skillCatalogue, { id: "getSkillCatalogue" }),
  get("/skills/matches", skillCatalogue.matchSkills),
  get("/skills/manifests", skillCatalogue.skillManifests, { id: "listSkillManifests" }),
  get("/skills/{name}", skills.getSkill, { version: "skill.version" }),
  del("/skills/{name}", skillStore.removeSkill),
  get("/skills/{name}/versions", skillStore.listVersions, {
    id: "listSkillVersions",
    version: "current",
  }),
  get("/skills/{name}/diff", skillStore.diffSkill),
  get("/skills/{name}/file", skillStore.readSkillFile),
  get("/skills/{name}/instructions", skills.renderSkill),
  post("/skills/{name}/rollback", skillStore.rollbackSkill, { version: "version" }),

  get("/openclaw/skills", skills.listSkills, { ...openclaw, id: "listOpenclawSkills" }),
  post("/openclaw/import", skills.importSkills, {
    id: "importOpenclawSkills",
    ...openclaw,
    ...CREATED,
    names: { path: "directory" },
    texts: OF_SKILL,
  }),
  post("/openclaw/import-directory", skills.importSkills, {
    id: "importOpenclawDirectory",
    ...openclaw,
    ...CREATED,
    names: { dirPath: "directory" },
  }),
  get("/openclaw/skills/{id}/instructions", skills.renderSkill, {
    ...openclaw,
    defaults: { raw: true },
    id: "renderOpenclawSkill",
  }),
  del("/openclaw/skills/{id}", skillStore.removeSkill, { ...openclaw, id: "removeOpenclawSkill" }),

  get("/agents", agents.listAgents),
  post("/agents", agentStore.uploadAgents, UPLOAD),
  post("/agents/archive", agentStore.unpackAgents, CREATED),
  post("/agents/check", agents.checkAgents, { bodyLimit: UPLOAD.bodyLimit }),
  get("/agents/{name}", agents.getAgent, { version: "agent.digest" }),
  del("/agents/{name}", agentStore.removeAgent),
  get("/agents/{name}/versions", agentStore.listAgentVersions, { version: "current" }),
  get("/agents/{name}/diff", agentStore.diffAgent),
  get("/agents/{name}/memories", listMemories, { names: { name: "agent" } }),
  post("/agents/{name}/rollback", agentStore.rollbackAgent, { version: "digest" }),

  post("/policy/explain", explainPolicy),
  post("/policy/validate", validatePolicy, { bodyLimit: 4 * MIB }),
  post("/policy/replay", replayDecisions, { bodyLimit: 4 * MIB }),
  post("/policy/who-can", bundles.whoCanCall, { id: "findWhoCanCall" }),
  get("/policy/rules", bundles.listPolicyRules),
  get("/policy/versions", bundles.listPolicyVersions, { version: "versions.0.version" }),
  get("/policy/texts", bundles.readPolicyTexts, { version: "version" }),
  post("/policy/activate", bundles.activatePolicy, { ...ACTIVE, bodyLimit: 4 * MIB }),
  post("/policy/rollback", bundles.rollbackPolicy, ACTIVE),
  get("/policy/stops", budgets.listStops),
  post("/policy/stops", budgets.stopCalls, CREATED),
  post("/policy/stops/resume", budgets.resumeCalls),
  get("/policy/token-keys", listTokenKeys),

  get("/audit", listAudit),
  get("/audit/verify", verifyAudit),

  get("/keys", users.listUserKeys),
  post("/keys", users.createUserKey, CREATED),
  post("/keys/{id}/rotate", users.rotateUserKey, CREATED),
  del("/keys/{id}", users.revokeUserKey),
  get("/user-sessions", userSessions.listUserSessions),
  del("/user-sessions/{id}", userSessions.revokeUserSession),

  get("/webhooks", webhooks.listWebhooks),
  post("/webhooks", webhooks.createWebhook, { ...CREATED, ...WEBHOOK }),
  get("/webhooks/{id}", webhooks.getWebhook, WEBHOOK),
  patch("/webhooks/{id}", webhooks.updateWebhook, WEBHOOK),
  del("/webhooks/{id}", webhooks.removeWebhook),
  post("/webhooks/{id}/redeliver", webhooks.redeliverWebhook),
  get("/hooks", webhooks.listHooks),

  get("/push", push.getPush),
  put("/push", push.setPush),
  del("/push", push.removePush),

  get("/models", listModels),
];

function get(path: string, contract: Rpc, more: More = {}): Route {
  return { status: 200, ...more, method: "get", path, contract };
}

function post(path: string, contract: Rpc | Command, more: More = {}): Route {
  return { status: 200, ...more, method: "post", path, contract };
}

function put(path: string, contract: Rpc, more: More = {}): Route {
  return { status: 200, ...more, method: "put", path, contract };
}

function patch(path: string, contract: Rpc, more: More = {}): Route {
  return { status: 200, ...more, method: "patch", path, contract };
}

function del(path: string, contract: Rpc, more: More = {}): Route {
  return { status: 200, ...more, method: "delete", path, contract };
}
