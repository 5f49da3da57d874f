import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { isError } from "@switchyard/contracts/errors";
import { AgentName, ModelName } from "@switchyard/contracts/ids";
import { SessionKind } from "@switchyard/contracts/agent-runner/session-key";
import {
  getSession,
  listSessions,
  patchSession,
  sessionHistory,
  type Session,
} from "@switchyard/contracts/agent-runner/sessions";
import { z } from "zod";
import { defineTool, type Tool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { asToolError } from "./as-caller.ts";
import { jsonResult } from "./json-result.ts";
import {
  findSession,
  isAmong,
  refusalOf,
  viewerOf,
  visibleOf,
  type AccessParts,
} from "./session-access.ts";
import { rowOf } from "./session-names.ts";
import { setByClient } from "./set-by-client.ts";

export const SessionText = z.string().max(160);
/** Set by the client that acts for a session, never by a model. A run's own session comes from its token. */
export const CallerSession = setByClient(SessionText.optional(), "The session that you speak in");
/** The same parameters for a client whose program runs in a sandbox. */
export const callerShape = {
  callerSession: CallerSession,
  callerSandboxed: setByClient(z.boolean().optional(), "Whether you are kept in a sandbox"),
};
/** The session shown for a caller without one of its own. */
export const NO_SESSION = "main";
/** The number of sessions that a filtered list searches. */
const LOOKED_THROUGH = 200;

/** The tools about sessions, with the parameters and results of OpenClaw's [F6, F7, F10, F11]. */
export function createSessionTools(parts: AccessParts): readonly Tool[] {
  return [
    listTool(parts),
    historyTool(parts),
    statusTool(parts),
    agentsTool(parts),
  ] as readonly Tool[]; // each is a Tool of its own arguments
}

function listTool(parts: AccessParts) {
  const { asCaller } = parts;
  return defineTool({
    name: "sessions_list",
    description:
      "Lists your sessions, the one used last first. messageLimit adds the last messages of each, without those of tools.",
    input: z.strictObject({
      filter: z.string().max(128).optional().describe("Part of a key or label"),
      kinds: z.array(SessionKind).max(6).optional(),
      limit: z.int().min(1).max(200).default(50),
      activeMinutes: z.int().min(1).optional().describe("Used within so many minutes"),
      messageLimit: z.int().min(0).max(20).default(0),
      ...callerShape,
    }),
    async run({ filter = "", kinds = [], limit, activeMinutes, messageLimit, ...said }, context) {
      const viewer = await viewerOf(parts, context, said);
      const { sessions: all } = await asCaller(context, listSessions, {
        limit: viewer.session === null ? limit : LOOKED_THROUGH,
        messageLimit,
        ...(filter !== "" && { search: filter }),
        ...(kinds.length > 0 && { kinds }),
        ...(activeMinutes !== undefined && { activeMinutes }),
      }).catch(asToolError);
      const seen = await visibleOf(parts, context, { viewer, sessions: all });
      const rows = seen.slice(0, limit).map((session) => rowOf(session, session.history));
      return jsonResult({ count: rows.length, sessions: rows });
    },
  });
}

function historyTool(parts: AccessParts) {
  const { asCaller } = parts;
  return defineTool({
    name: "sessions_history",
    description:
      "Reads the last messages of a session, at most 80 KiB of them and 4,000 characters of each.",
    input: z.strictObject({
      sessionKey: SessionText.describe("The session's key or id"),
      limit: z.int().min(1).max(1_000).default(200),
      includeTools: z.boolean().default(false).describe("Also what tools answered"),
      ...callerShape,
    }),
    async run({ sessionKey: session, limit, includeTools, ...said }, context) {
      const viewer = await viewerOf(parts, context, said);
      const found = await findSession(asCaller, context, session);
      const wanted = found ?? { key: session, agent: null };
      const refusal = await refusalOf(parts, context, { viewer, wanted, action: "history" });
      if (refusal !== null) return jsonResult({ status: "forbidden", error: refusal });
      const { sessionId: _, ...history } = await asCaller(context, sessionHistory, {
        session,
        limit,
        includeTools,
      }).catch(unknownSession(session));
      return jsonResult(history);
    },
  });
}

function statusTool(parts: AccessParts) {
  const { asCaller } = parts;
  return defineTool({
    name: "session_status",
    description:
      'Shows a session: model, tokens, what is under way. model sets what answers in it from now on; "default" is the agent\'s own again.',
    input: z.strictObject({
      sessionKey: SessionText.optional().describe("Left out: your own session"),
      model: z.string().max(170).optional(),
      ...callerShape,
    }),
    async run({ sessionKey, model, ...said }, context) {
      const viewer = await viewerOf(parts, context, said);
      const own = context.runId === null ? (viewer.session ?? NO_SESSION) : context.session;
      const session = sessionKey ?? own ?? "";
      if (session === "") throw new ToolError("sessionKey required");
      const wanted = model === "" || model === "default" ? null : model;
      if (wanted !== undefined && wanted !== null && !ModelName.safeParse(wanted).success)
        throw new ToolError(`Unrecognized model "${wanted}".`);
      const target = (await findSession(asCaller, context, session)) ?? {
        key: session,
        agent: null,
      };
      const refusal = await refusalOf(parts, context, { viewer, wanted: target, action: "status" });
      if (refusal !== null) throw new ToolError(refusal);
      const { session: found } = await (
        wanted === undefined
          ? asCaller(context, getSession, { session })
          : asCaller(context, patchSession, { session, model: wanted })
      ).catch((error: unknown) => {
        if (!isError(error, patchSession, "unknown_model")) return unknownSession(session)(error);
        throw new ToolError(`Unrecognized model "${error.data.model}". ${error.message}`);
      });
      const { key } = found;
      const changedModel = wanted !== undefined;
      return jsonResult({ ok: true, sessionKey: key, changedModel, statusText: cardOf(found) });
    },
  });
}

function agentsTool(parts: AccessParts) {
  const { asCaller, settings } = parts;
  return defineTool({
    name: "agents_list",
    description: "Lists the agents that sessions_spawn can start, your own first.",
    input: z.strictObject(callerShape),
    async run(said, context) {
      const { agents } = await asCaller(context, listAgents, {}).catch(asToolError);
      const { session, agent: requester } = await viewerOf(parts, context, said);
      const { allowAgents } = (await settings()).subagents;
      const isOwn = (id: string): number => (id === requester ? 0 : 1);
      const allowAny = session === null || allowAgents.includes("*");
      const listed = agents
        .filter(({ name }) => allowAny || isOwn(name) === 0 || isAmong(allowAgents, name))
        .map(({ name, description }) => ({ id: name, name: description, configured: true }))
        .toSorted((a, b) => isOwn(a.id) - isOwn(b.id) || a.id.localeCompare(b.id));
      return jsonResult({ requester, allowAny, agents: listed });
    },
  });
}

export function checkAgentId(agentId: string): void {
  if (!AgentName.safeParse(agentId).success)
    throw new ToolError(
      `Invalid agentId "${agentId}". Agent IDs must match [a-z0-9][a-z0-9_-]{0,63}. agents_list shows them.`,
    );
}

export function unknownSession(session: string) {
  return (error: unknown): never => {
    if (!isError(error, getSession, "unknown_session") || session === "") return asToolError(error);
    const kind = session.startsWith("ses-") ? "sessionId" : "sessionKey";
    throw new ToolError(`Unknown ${kind}: ${session}`);
  };
}

function cardOf(session: Session): string {
  const { key, agent, model, totalTokens, messages, activeRun, queued, updatedAt } = session;
  return [
    `Session ${key}, agent ${agent}`,
    `Model: ${model ?? "the agent's own"}`,
    `Tokens: ${totalTokens}, messages: ${messages}`,
    `Queue: ${activeRun === null ? "idle" : `run ${activeRun} is under way`}, ${queued} waiting`,
    `Last used: ${updatedAt}`,
  ].join("\n");
}
