import { listAgents } from "@switchyard/contracts/agents";
import { isError } from "@switchyard/contracts/errors";
import { AgentName, ModelName } from "@switchyard/contracts/ids";
import { SessionKind } from "@switchyard/contracts/session-key";
import {
  getSession,
  listSessions,
  patchSession,
  sendToSession,
  sessionHistory,
  type Session,
} from "@switchyard/contracts/sessions";
import { DEFAULT_SEND_SECONDS, MAX_SEND_SECONDS } from "@switchyard/contracts/toolbox";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { asToolError, type AsCaller } from "./as-caller.ts";
import { jsonResult } from "./json-result.ts";
import { agentOfKey, rowOf } from "./session-names.ts";

export const SessionText = z.string().max(160);
/** Set by the client that speaks for a session, never by a model: the stdio server hides it. A run's own session comes from its token. */
export const CallerSession = SessionText.optional().describe("The session that you speak in");

/** The tools about sessions, with the parameters and results of OpenClaw's [F6-F8, F10, F11]. */
export function createSessionTools(asCaller: AsCaller): readonly Tool[] {
  return [
    listTool(asCaller),
    historyTool(asCaller),
    sendTool(asCaller),
    statusTool(asCaller),
    agentsTool(asCaller),
  ] as readonly Tool[]; // each is a Tool of its own arguments
}

function listTool(asCaller: AsCaller) {
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
    }),
    async run({ filter = "", kinds = [], limit, activeMinutes, messageLimit }, context) {
      const { count, sessions } = await asCaller(context, listSessions, {
        limit,
        messageLimit,
        ...(filter !== "" && { search: filter }),
        ...(kinds.length > 0 && { kinds }),
        ...(activeMinutes !== undefined && { activeMinutes }),
      }).catch(asToolError);
      const rows = sessions.map((session) => rowOf(session, session.history));
      return jsonResult({ count, sessions: rows });
    },
  });
}

function historyTool(asCaller: AsCaller) {
  return defineTool({
    name: "sessions_history",
    description:
      "Reads the last messages of a session, at most 80 KiB of them and 4,000 characters of each.",
    input: z.strictObject({
      sessionKey: SessionText.describe("The session's key or id"),
      limit: z.int().min(1).max(1_000).default(200),
      includeTools: z.boolean().default(false).describe("Also what tools answered"),
    }),
    async run({ sessionKey: session, limit, includeTools }, context) {
      const { sessionId: _, ...history } = await asCaller(context, sessionHistory, {
        session,
        limit,
        includeTools,
      }).catch(unknownSession(session));
      return jsonResult(history);
    },
  });
}

function sendTool(asCaller: AsCaller) {
  return defineTool({
    name: "sessions_send",
    notForRuns: true,
    description:
      "Says something in another session, by its key or its label, and waits for the answer. After a timeout the run goes on: do not send again, read sessions_history later.",
    input: z.strictObject({
      sessionKey: SessionText.optional(),
      label: z.string().max(128).optional(),
      agentId: z.string().min(1).max(64).optional().describe("Who answers in a new session"),
      message: z.string().min(1).max(65_536),
      timeoutSeconds: z
        .number()
        .min(0)
        .max(MAX_SEND_SECONDS)
        .default(DEFAULT_SEND_SECONDS)
        .describe("How long to wait for the answer; 0 is not at all"),
    }),
    async run({ sessionKey = "", label = "", agentId, message, timeoutSeconds }, context) {
      if (sessionKey !== "" && label !== "")
        throw new ToolError("Provide either sessionKey or label (not both).");
      if (sessionKey === "" && label === "")
        throw new ToolError("Either sessionKey or label is required");
      const agent = sessionKey === "" ? undefined : (agentId ?? agentOfKey(sessionKey));
      if (agent !== undefined && agent !== null) checkAgentId(agent);
      const known = await agentOfSession(asCaller, context, sessionKey);
      const sent = await asCaller(context, sendToSession, {
        ...(sessionKey === "" ? { label } : { session: sessionKey }),
        // Who answers in a session that there is stays who it was, unless somebody is named.
        ...(agent !== undefined && agent !== null && (agentId !== undefined || known === null)
          ? { agent }
          : {}),
        message,
        timeoutSeconds: Math.ceil(timeoutSeconds),
      }).catch(unknownSession(sessionKey));
      const { status, runId, sessionKey: key, reply, error } = sent;
      const facts = { status, runId, sessionKey: key };
      if (status === "error") return jsonResult({ ...facts, error: error?.message ?? "failed" });
      if (status === "timeout") return jsonResult(facts);
      const delivery = { status: status === "ok" ? "replied" : "pending", mode: "none" };
      return jsonResult({ ...facts, ...(reply !== undefined && { reply }), delivery });
    },
  });
}

function statusTool(asCaller: AsCaller) {
  return defineTool({
    name: "session_status",
    description:
      'Shows a session: model, tokens, what is under way. model sets what answers in it from now on; "default" is the agent\'s own again.',
    input: z.strictObject({
      sessionKey: SessionText.optional().describe("Left out: your own session"),
      model: z.string().max(170).optional(),
      callerSession: CallerSession,
    }),
    async run({ sessionKey, model, callerSession }, context) {
      const session = sessionKey ?? context.session ?? callerSession ?? "";
      if (session === "") throw new ToolError("sessionKey required");
      const wanted = model === "" || model === "default" ? null : model;
      if (wanted !== undefined && wanted !== null && !ModelName.safeParse(wanted).success)
        throw new ToolError(`Unrecognized model "${wanted}".`);
      const { session: found } = await (
        wanted === undefined
          ? asCaller(context, getSession, { session })
          : asCaller(context, patchSession, { session, model: wanted })
      ).catch(unknownSession(session));
      const { key } = found;
      const changedModel = wanted !== undefined;
      return jsonResult({ ok: true, sessionKey: key, changedModel, statusText: cardOf(found) });
    },
  });
}

function agentsTool(asCaller: AsCaller) {
  return defineTool({
    name: "agents_list",
    description: "Lists the agents that sessions_spawn can start, your own first.",
    input: z.strictObject({ callerSession: CallerSession }),
    async run({ callerSession }, context) {
      const { agents } = await asCaller(context, listAgents, {}).catch(asToolError);
      const own = context.session ?? callerSession ?? "";
      const requester = await agentOfSession(asCaller, context, own);
      const isOwn = (id: string): number => (id === requester ? 0 : 1);
      const listed = agents
        .map(({ name, description }) => ({ id: name, name: description, configured: true }))
        .toSorted((a, b) => isOwn(a.id) - isOwn(b.id) || a.id.localeCompare(b.id));
      return jsonResult({ requester, allowAny: true, agents: listed });
    },
  });
}

/** Who answers in a session; null when there is none. */
export async function agentOfSession(
  asCaller: AsCaller,
  context: ToolContext,
  session: string,
): Promise<string | null> {
  if (session === "") return null;
  try {
    return (await asCaller(context, getSession, { session })).session.agent;
  } catch (error) {
    if (isError(error, getSession, "unknown_session")) return null;
    return asToolError(error);
  }
}

export function checkAgentId(agentId: string): void {
  if (!AgentName.safeParse(agentId).success)
    throw new ToolError(
      `Invalid agentId "${agentId}". Agent IDs must match [a-z0-9][a-z0-9_-]{0,63}. agents_list shows them.`,
    );
}

function unknownSession(session: string) {
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
