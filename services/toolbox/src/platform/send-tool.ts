import { cutText } from "@switchyard/contracts/cut-text";
import { MOST_SAID, type RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import { SessionKey } from "@switchyard/contracts/agent-runner/session-key";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { DEFAULT_SEND_SECONDS, MAX_SEND_SECONDS } from "@switchyard/contracts/toolbox/toolbox";
import { z } from "zod";
import { defineTool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { jsonResult } from "./json-result.ts";
import {
  findSession,
  refusalOf,
  sessionsNamed,
  viewerOf,
  type AccessParts,
  type Viewer,
  type Wanted,
} from "./session-access.ts";
import { senderFor } from "./sender-for.ts";
import { agentOfKey, chatOfKey } from "./session-names.ts";
import { callerShape, checkAgentId, SessionText, unknownSession } from "./session-tools.ts";

/** `sessions_send` [F8]: a message in another session; the runners handle the conversation of the two that follows it. */
export function createSendTool(parts: AccessParts) {
  const { asCaller } = parts;
  return defineTool({
    name: "sessions_send",
    aliases: { timeout: "timeoutSeconds" },
    description:
      "Sends a message to another session, by its key or its label, and waits for the answer. After a timeout the run continues: do not send again, read sessions_history later.",
    input: z.strictObject({
      sessionKey: SessionText.optional(),
      label: z.string().max(128).optional(),
      agentId: z
        .string()
        .min(1)
        .max(64)
        .optional()
        .describe("Who answers in a new session; with label: whose sessions are looked through"),
      message: z.string().min(1).max(32_768),
      timeoutSeconds: z
        .number()
        .min(0)
        .max(MAX_SEND_SECONDS)
        .default(DEFAULT_SEND_SECONDS)
        .describe("How long to wait for the answer; 0 is not at all"),
      ...callerShape,
    }),
    async run({ sessionKey = "", label = "", agentId, message, timeoutSeconds, ...said }, context) {
      if (sessionKey !== "" && label !== "")
        throw new ToolError("Provide either sessionKey or label (not both).");
      if (sessionKey === "" && label === "")
        throw new ToolError("Either sessionKey or label is required");
      const named = agentId ?? agentOfKey(sessionKey) ?? undefined;
      if (named !== undefined) checkAgentId(named);
      const viewer = await viewerOf(parts, context, said);
      if (label !== "" && viewer.isSandboxed && agentId !== undefined && agentId !== viewer.agent)
        return forbidden("Sandboxed sessions_send label lookup is limited to this agent");
      const wanted =
        label === ""
          ? await wantedOf(parts, context, sessionKey)
          : await labelled(parts, context, { label, agentId });
      const refusal = await refusalOf(parts, context, { viewer, wanted, action: "send" });
      if (refusal !== null) return forbidden(refusal, wanted.key);
      // The agent of an existing session stays the same, unless the caller names one.
      const agent = (label === "" ? agentId : undefined) ?? wanted.agent ?? named;
      const followUp = await followUpOf(parts, { viewer, wanted: { ...wanted, agent }, message });
      const sent = await asCaller(context, sendToSession, {
        session: wanted.key,
        ...(agent !== undefined && { agent }),
        message,
        timeoutSeconds: Math.ceil(timeoutSeconds),
        ...senderFor(context),
        ...(followUp !== null && { followUp }),
      }).catch(unknownSession(wanted.key));
      const { status, runId, sessionKey: key, reply, error } = sent;
      const facts = { status, runId, sessionKey: key };
      if (status === "error") return jsonResult({ ...facts, error: error?.message ?? "failed" });
      if (status === "timeout") return jsonResult(facts);
      const delivery =
        followUp === null
          ? { status: status === "ok" ? "replied" : "pending", mode: "none" }
          : { status: "pending", mode: "announce" };
      return jsonResult({ ...facts, ...(reply !== undefined && { reply }), delivery });
    },
  });
}

function forbidden(error: string, sessionKey?: string) {
  return jsonResult({
    status: "forbidden",
    error,
    ...(sessionKey !== undefined && { sessionKey }),
  });
}

/** A session by its key or id; one that is not there yet can be begun by its key. */
async function wantedOf(
  { asCaller }: AccessParts,
  context: ToolContext,
  session: string,
): Promise<Wanted> {
  const found = await findSession(asCaller, context, session);
  return { key: found?.key ?? session, agent: found?.agent ?? null };
}

async function labelled(
  { asCaller }: AccessParts,
  context: ToolContext,
  { label, agentId }: { readonly label: string; readonly agentId: string | undefined },
): Promise<Wanted> {
  const found = (await sessionsNamed(asCaller, context, label)).find(
    (session) => session.label === label && (agentId === undefined || session.agent === agentId),
  );
  if (found === undefined) throw new ToolError(`No session found with label: ${label}`);
  return found;
}

/** Returns the follow-up of the answer: turns of both sessions, if the sender has one, and the announcement in the other one's chat. */
async function followUpOf(
  { settings }: AccessParts,
  asked: {
    readonly viewer: Viewer;
    readonly wanted: { readonly key: string; readonly agent: string | undefined };
    readonly message: string;
  },
): Promise<RunFollowUp | null> {
  const { viewer, wanted, message } = asked;
  const { session } = viewer;
  const { key, agent } = wanted;
  if (session === null || session === key || agent === undefined) return null;
  // A session that is no key, such as the id of one that has ended, causes a refusal elsewhere.
  if ([session, key].some((one) => !SessionKey.safeParse(one).success)) return null;
  const { maxPingPongTurns } = (await settings()).agentToAgent;
  const turnsLeft = viewer.agent === null ? 0 : maxPingPongTurns;
  const chat = chatOfKey(key);
  if (turnsLeft === 0 && chat === null) return null;
  return {
    kind: "converse",
    requester: { session, agent: viewer.agent ?? agent },
    target: { session: key, agent },
    speaker: "target",
    turnsLeft,
    question: cutText(message, MOST_SAID),
    ...(chat !== null && { chat }),
  };
}
