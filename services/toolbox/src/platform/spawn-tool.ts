import { randomBytes } from "node:crypto";
import { fullRunId } from "@switchyard/contracts/ids";
import { patchSession, sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { z } from "zod";
import { defineTool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { announceTo } from "./announce-to.ts";
import { asToolError, type AsCaller } from "./as-caller.ts";
import {
  AttachAs,
  attachedText,
  attachFiles,
  Attachments,
  type AttachedFiles,
  type Attachment,
} from "./attach-files.ts";
import { jsonResult } from "./json-result.ts";
import { childrenOf, isAmong, viewerOf, type AccessParts, type Viewer } from "./session-access.ts";
import { senderFor } from "./sender-for.ts";
import { depthOfKey, spawnedKey } from "./session-names.ts";
import { callerShape, checkAgentId, NO_SESSION } from "./session-tools.ts";
import type { ToolSettings } from "./tool-settings.ts";

const MAX_RUN_SECONDS = 86_400;
/** Parameters of message tools, which models often pass to this one. */
const REFUSED_KEYS = [
  "target",
  "transport",
  "channel",
  "to",
  "threadId",
  "thread_id",
  "replyTo",
  "reply_to",
] as const;

const RunSeconds = z.number().min(0).max(MAX_RUN_SECONDS).optional();
const Refused = z.unknown().optional().meta({ refused: true });
const refusedShape = Object.fromEntries(REFUSED_KEYS.map((key) => [key, Refused]));

const Spawning = z.strictObject({
  task: z.string().min(1).max(32_768),
  label: z.string().max(128).optional(),
  agentId: z.string().max(64).optional().describe("Left out: the agent of your session"),
  model: z.string().max(170).optional(),
  thinking: ThinkingLevel.optional().describe("How much it thinks; left out: the agent's own"),
  runtime: z.literal("subagent").optional().describe("There is no other one"),
  mode: z.enum(["run", "session"]).optional().describe("Only run is available here"),
  thread: z.boolean().default(false).describe("Not available here"),
  cleanup: z
    .enum(["keep", "delete"])
    .default("keep")
    .describe("delete ends its session when the result is announced"),
  runTimeoutSeconds: RunSeconds.describe("It fails after so long; 0: the agent's own limit"),
  timeoutSeconds: RunSeconds.describe("The same as runTimeoutSeconds"),
  sandbox: z
    .enum(["inherit", "require"])
    .default("inherit")
    .describe("require: refused where commands of agents are not confined"),
  attachments: Attachments.optional().describe(
    "Files for it, 1 MiB together: they are put into its workspace",
  ),
  attachAs: AttachAs.optional().describe(
    "Where they are put; left out: a new directory, which the result names (relDir)",
  ),
  ...callerShape,
  ...refusedShape,
});

/** `sessions_spawn` [F9]: an agent works on a task in a session of its own, and its result is announced here. */
export function createSpawnTool(parts: AccessParts) {
  const { asCaller, isConfined } = parts;
  return defineTool({
    name: "sessions_spawn",
    aliases: { prompt: "task" },
    description:
      "Starts an agent on a task in a session of its own and does not wait. Its result is announced in your session; subagents shows how far it is.",
    input: Spawning,
    async run(args, context) {
      checkKind(args);
      const { task, label, agentId, model, thinking, attachments = [], attachAs } = args;
      if (args.sandbox === "require" && !isConfined)
        return forbidden(
          'sessions_spawn sandbox="require" needs a sandboxed target runtime, and commands are not confined here. Use sandbox="inherit".',
        );
      const seconds = args.runTimeoutSeconds ?? args.timeoutSeconds ?? 0;
      if (agentId !== undefined) checkAgentId(agentId);
      const viewer = await viewerOf(parts, context, args);
      const parent = viewer.session ?? NO_SESSION;
      const refusal = await refusalOf(parts, context, { viewer, parent, agentId });
      if (refusal !== null) return forbidden(refusal);
      const agent = agentId ?? viewer.agent;
      if (agent === null)
        throw new ToolError("agentId is required: your session has no agent. agents_list has all.");
      const endsSession = args.cleanup === "delete";
      const followUp = announceTo(viewer, { label: label ?? null, endsSession });
      if (endsSession && followUp === null)
        throw new ToolError(
          'cleanup="delete" is unavailable because no agent answers in your session, so its result could not be announced.',
        );
      const key = spawnedKey(agent, parent);
      const runId = fullRunId(context.caller, `run-${randomBytes(13).toString("hex")}`);
      const attached = await attachedTo(context, {
        runId,
        task,
        attachments,
        mountPath: attachAs?.mountPath,
      });
      const message = attached === null ? task : `${task}\n\n${attachedText(attached)}`;
      const sent = await asCaller(context, sendToSession, {
        session: key,
        agent,
        message,
        runId,
        ...senderFor(context),
        ...(model !== undefined && { model }),
        ...(thinking !== undefined && { thinking }),
        ...(followUp !== null && { followUp }),
        ...(seconds > 0 && {
          limits: {
            timeoutMs: Math.max(1_000, Math.ceil(seconds * 1_000)),
            onLimit: "fail" as const,
          },
        }),
      }).catch(asToolError);
      const warning = await labelled(asCaller, context, { session: key, label });
      return jsonResult({
        status: "accepted",
        childSessionKey: key,
        runId: sent.runId,
        mode: "run",
        ...(model !== undefined && { modelApplied: true }),
        ...(attached !== null && { attachments: attached }),
        ...warning,
        note: noteOf(followUp !== null),
      });
    },
  });
}

function noteOf(isAnnounced: boolean): string {
  const where = isAnnounced
    ? "Its result is announced in your session when it has ended"
    : "Look with subagents (action list) when you need its result";
  return `It works on its own. Continue with something else. ${where}; do not poll.`;
}

function forbidden(error: string) {
  return jsonResult({ status: "forbidden", error });
}

/** Rejects options for which other systems use a thread of a chat, and parameters that this tool does not have. */
function checkKind(
  wanted: Readonly<Record<string, unknown>> & {
    readonly mode?: string | undefined;
    readonly thread: boolean;
  },
): void {
  const refused = REFUSED_KEYS.find((key) => Object.hasOwn(wanted, key));
  if (refused !== undefined)
    throw new ToolError(
      `sessions_spawn does not support "${refused}". Use "message" or "sessions_send" for channel delivery.`,
    );
  if (wanted.mode === "session" && !wanted.thread)
    throw new ToolError(
      'mode="session" requires thread=true, which is not available here; leave mode out.',
    );
  if (wanted.thread)
    throw new ToolError(
      "thread=true is unavailable because no channel here binds a spawned session to a thread; its result is announced in your session.",
    );
}

/** Returns the reason why this session may not start that agent now; null when it may. */
async function refusalOf(
  parts: AccessParts,
  context: ToolContext,
  asked: {
    readonly viewer: Viewer;
    readonly parent: string;
    readonly agentId: string | undefined;
  },
): Promise<string | null> {
  const { viewer, parent, agentId } = asked;
  const limits = (await parts.settings()).subagents;
  const depth = depthOfKey(parent);
  if (depth >= limits.maxSpawnDepth)
    return `sessions_spawn is not allowed at this depth (current depth: ${depth}, max: ${limits.maxSpawnDepth})`;
  const other = refusalOfAgent(limits, viewer, agentId);
  if (other !== null) return other;
  const children = await childrenOf(parts.asCaller, context, parent);
  const active = children.filter(({ activeRun }) => activeRun !== null).length;
  return active < limits.maxChildrenPerAgent
    ? null
    : `sessions_spawn has reached max active children for this session (${active}/${limits.maxChildrenPerAgent})`;
}

function refusalOfAgent(
  { requireAgentId, allowAgents }: ToolSettings["subagents"],
  { session, agent }: Viewer,
  agentId: string | undefined,
): string | null {
  if (agentId === undefined)
    return requireAgentId
      ? "sessions_spawn requires explicit agentId when requireAgentId is configured. Use agents_list to see allowed agent ids."
      : null;
  if (session === null || agentId === agent || isAmong(allowAgents, agentId)) return null;
  return `agentId is not allowed for sessions_spawn (allowed: ${allowAgents.join(", ") || "none"})`;
}

/** Returns null when there are none. */
async function attachedTo(
  context: ToolContext,
  {
    runId,
    ...given
  }: {
    readonly runId: string;
    readonly task: string;
    readonly attachments: Attachment[];
    readonly mountPath: string | undefined;
  },
): Promise<AttachedFiles | null> {
  if (given.attachments.length === 0) {
    if (given.mountPath === undefined) return null;
    throw new ToolError(
      "attachAs says where attachments are put, and there are none; leave it out.",
    );
  }
  const workspace = await context.workspaceOfNewRun(runId);
  if (workspace !== null) return attachFiles(context, workspace, given);
  throw new ToolError(
    "attachments is unavailable because sessions have workspaces of their own here (YARD_WORKSPACE_SCOPE), and a new session has none before it begins.",
  );
}

/** If another session has the label, the started session still continues. */
async function labelled(
  asCaller: AsCaller,
  context: ToolContext,
  about: { readonly session: string; readonly label: string | undefined },
): Promise<{ warning?: string }> {
  const { label = "" } = about;
  if (label === "") return {};
  try {
    await asCaller(context, patchSession, { session: about.session, label });
    return {};
  } catch (error) {
    return { warning: error instanceof Error ? error.message : String(error) };
  }
}
