import { randomBytes } from "node:crypto";
import { requestCancel } from "@switchyard/contracts/runs";
import {
  listSessions,
  patchSession,
  sendToSession,
  type Session,
} from "@switchyard/contracts/sessions";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { asToolError, type AsCaller } from "./as-caller.ts";
import { jsonResult } from "./json-result.ts";
import { childMark, depthOfKey } from "./session-names.ts";
import { agentOfSession, CallerSession, checkAgentId } from "./session-tools.ts";

const MAX_ACTIVE = 5;
const MAX_DEPTH = 1;
const MAX_RUN_SECONDS = 86_400;
/** So much time is between two messages of steer to the same session [F12]. */
const STEER_MS = 2_000;
const KEPT_STEERS = 1_000;
const DEFAULT_RECENT_MINUTES = 30;
/** Where somebody without a session of its own starts children from. */
const NO_SESSION = "main";
/** Parameters of message tools, which models like to give to this one. */
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

const FILES =
  "files get to an agent through the workspace, where the rules of the file tools decide about them";
/** Parameters that OpenClaw's takes, and why this one does not. */
const UNAVAILABLE = {
  attachments: FILES,
  attachAs: FILES,
  thinking: "runs have no such setting; give another model instead",
} as const;
const unavailableShape = Object.fromEntries(Object.keys(UNAVAILABLE).map((key) => [key, Refused]));

/** The tools that start sessions for others to work in, and look after them [F9, F12]. */
export function createSpawnTools(asCaller: AsCaller, now: () => number): readonly Tool[] {
  return [spawnTool(asCaller), subagentsTool(asCaller, now)] as readonly Tool[]; // each is a Tool of its own arguments
}

function spawnTool(asCaller: AsCaller) {
  return defineTool({
    name: "sessions_spawn",
    notForRuns: true,
    description:
      "Starts an agent on a task in a session of its own and does not wait. subagents and sessions_history show how far it is.",
    input: z.strictObject({
      task: z.string().min(1).max(65_536),
      label: z.string().max(128).optional(),
      agentId: z.string().max(64).optional().describe("Left out: the agent of your session"),
      model: z.string().max(170).optional(),
      runtime: z.literal("subagent").optional().describe("There is no other one"),
      mode: z.enum(["run", "session"]).default("run"),
      thread: z.boolean().default(false).describe("Not available here"),
      cleanup: z.enum(["keep", "delete"]).default("keep").describe("Only keep is available here"),
      runTimeoutSeconds: RunSeconds.describe("It fails after so long; 0: the agent's own limit"),
      timeoutSeconds: RunSeconds.describe("The same as runTimeoutSeconds"),
      sandbox: z
        .enum(["inherit", "require"])
        .default("inherit")
        .describe("Only inherit is available here"),
      callerSession: CallerSession,
      ...unavailableShape,
      ...refusedShape,
    }),
    async run(args, context) {
      checkKind(args);
      const { task, label, agentId, model, callerSession } = args;
      const refused = REFUSED_KEYS.find((key) => Object.hasOwn(args, key));
      if (refused !== undefined)
        throw new ToolError(
          `sessions_spawn does not support "${refused}". Use "message" or "sessions_send" for channel delivery.`,
        );
      for (const [name, reason] of Object.entries(UNAVAILABLE))
        if (Object.hasOwn(args, name))
          throw new ToolError(`${name} is unavailable because ${reason}.`);
      const seconds = args.runTimeoutSeconds ?? args.timeoutSeconds ?? 0;
      const parent = callerSession ?? NO_SESSION;
      const depth = depthOfKey(parent);
      if (depth >= MAX_DEPTH)
        return jsonResult({
          status: "forbidden",
          error: `sessions_spawn is not allowed at this depth (current depth: ${depth}, max: ${MAX_DEPTH})`,
        });
      if (agentId !== undefined) checkAgentId(agentId);
      const agent = agentId ?? (await agentOfSession(asCaller, context, parent));
      if (agent === null)
        throw new ToolError("agentId is required: your session has no agent. agents_list has all.");
      const active = (await childrenOf(asCaller, context, parent)).filter(isActive).length;
      if (active >= MAX_ACTIVE)
        return jsonResult({
          status: "forbidden",
          error: `sessions_spawn has reached max active children for this session (${active}/${MAX_ACTIVE})`,
        });
      const key = `agent:${agent}:${childMark(parent)}-${randomBytes(10).toString("hex")}`;
      const sent = await asCaller(context, sendToSession, {
        session: key,
        agent,
        message: task,
        ...(model !== undefined && { model }),
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
        ...warning,
        note: "It works on its own. Go on with something else; look with subagents (action list) when you need its result, and do not poll.",
      });
    },
  });
}

/** What other systems bind to a thread of a chat, delete at its end, or confine. */
function checkKind(wanted: {
  mode: string;
  thread: boolean;
  cleanup: string;
  sandbox: string;
}): void {
  const { mode, thread, cleanup, sandbox } = wanted;
  if (mode === "session" && !thread)
    throw new ToolError(
      'mode="session" requires thread=true, which is not available here; leave mode out.',
    );
  if (thread)
    throw new ToolError(
      "thread=true is unavailable because a spawned session has no place in a chat; its result is read with subagents and sessions_history.",
    );
  if (cleanup === "delete")
    throw new ToolError(
      'cleanup="delete" is unavailable because its result could not be read then; a session that nobody uses ends by itself.',
    );
  if (sandbox === "require")
    throw new ToolError(
      'sandbox="require" is unavailable because whether commands are confined is one setting of the toolbox, for all runs.',
    );
}

/** A label that another session has is no reason to undo what was started. */
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

function subagentsTool(asCaller: AsCaller, now: () => number) {
  const steers = createPauses(now);
  return defineTool({
    name: "subagents",
    notForRuns: true,
    description:
      "Lists what you started with sessions_spawn (list), ends some of it (kill; target all for everything), or gives one a new message in place of what it does (steer).",
    input: z.strictObject({
      action: z.enum(["list", "kill", "steer"]).default("list"),
      target: z
        .string()
        .max(160)
        .optional()
        .describe("Its number in the list, its label or the beginning of it, its key or run id"),
      message: z.string().optional().describe("For steer, at most 4,000 characters"),
      recentMinutes: z.int().min(1).max(1_440).default(DEFAULT_RECENT_MINUTES),
      callerSession: CallerSession,
    }),
    async run({ action, target = "", message = "", recentMinutes, callerSession }, context) {
      const parent = callerSession ?? NO_SESSION;
      const children = await childrenOf(asCaller, context, parent);
      if (action === "list") return jsonResult(listed(children, { parent, recentMinutes }));
      if (target === "") throw new ToolError(`${action} needs a target; subagents list has them.`);
      if (action === "kill") return kill(asCaller, context, { children, target });
      if (message.trim() === "") throw new ToolError("steer needs a message.");
      if (message.length > 4_000)
        throw new ToolError(`Message too long (${message.length} chars, max 4000).`);
      if (target === callerSession) throw new ToolError("Subagents cannot steer themselves.");
      const child = oneOf(children, target);
      const waitMs = steers.take(`${context.caller} ${child.sessionId}`);
      if (waitMs > 0)
        return jsonResult({
          status: "rate_limited",
          error: `It was steered less than ${STEER_MS / 1_000} s ago; steer it again in ${waitMs} ms.`,
          ...named(child),
        });
      const { runId } = await asCaller(context, sendToSession, {
        session: child.sessionId,
        message,
        onBusy: "interrupt",
      }).catch(asToolError);
      return jsonResult({ status: "accepted", mode: "restart", runId, ...named(child) });
    },
  });
}

/** Of this process: another toolbox knows nothing of it, so several permit as many. */
function createPauses(now: () => number) {
  const ends = new Map<string, number>();
  return {
    /** 0 and a new pause, or what is left of the last one. */
    take(key: string): number {
      const left = (ends.get(key) ?? 0) - now();
      if (left > 0) return left;
      ends.delete(key);
      ends.set(key, now() + STEER_MS);
      const [oldest] = ends.keys();
      if (ends.size > KEPT_STEERS && oldest !== undefined) ends.delete(oldest);
      return 0;
    },
  };
}

async function kill(
  asCaller: AsCaller,
  context: ToolContext,
  { children, target }: { readonly children: readonly Session[]; readonly target: string },
) {
  const isAll = target === "all" || target === "*";
  const chosen = isAll ? children.filter(isActive) : [oneOf(children, target)];
  const labels: string[] = [];
  for (const child of chosen) {
    const { activeRun } = child;
    if (activeRun === null) continue;
    const reason = "killed by subagents";
    const reply = await asCaller(context, requestCancel, { runId: activeRun, reason }).catch(
      asToolError,
    );
    if (reply.outcome !== "ended") labels.push(child.label ?? child.key);
  }
  if (labels.length > 0 || isAll)
    return jsonResult({ status: "ok", action: "kill", killed: labels.length, labels });
  return jsonResult({ status: "done", action: "kill", text: "already finished" });
}

async function childrenOf(
  asCaller: AsCaller,
  context: ToolContext,
  parent: string,
): Promise<Session[]> {
  const query = { search: childMark(parent), limit: 200 };
  const { sessions } = await asCaller(context, listSessions, query).catch(asToolError);
  return sessions;
}

function isActive({ activeRun }: Session): boolean {
  return activeRun !== null;
}

/** By number, key, id, run, label, or how a label or run id begins. */
function oneOf(children: readonly Session[], target: string): Session {
  const byNumber = /^\d{1,3}$/.test(target) ? children[Number(target) - 1] : undefined;
  if (byNumber !== undefined) return byNumber;
  const exact = children.filter((child) =>
    [child.key, child.sessionId, child.label, runOf(child)].includes(target),
  );
  const found =
    exact.length > 0
      ? exact
      : children.filter(
          (child) => child.label?.startsWith(target) === true || runOf(child).startsWith(target),
        );
  const [only, ...others] = found;
  if (only === undefined) throw new ToolError(`Unknown subagent target: ${target}`);
  if (others.length > 0)
    throw new ToolError(`Ambiguous subagent target: ${target} is ${found.length} of them`);
  return only;
}

function runOf({ activeRun, lastRun }: Session): string {
  return activeRun ?? lastRun?.runId ?? "";
}

function named({ key, label }: Session) {
  return { sessionKey: key, label };
}

function listed(
  children: readonly Session[],
  { parent, recentMinutes }: { readonly parent: string; readonly recentMinutes: number },
) {
  const now = Date.now();
  const entries = children.map((child, index) => entryOf(child, { index: index + 1, now }));
  const active = entries.filter(({ status }) => status === "running");
  const recent = entries.filter(
    ({ status, endedAt }) =>
      status !== "running" && endedAt !== undefined && now - endedAt <= recentMinutes * 60_000,
  );
  const lines = [...active, ...recent].map(
    ({ index, label, sessionKey, status }) => `${index}. ${label ?? sessionKey}: ${status}`,
  );
  return {
    status: "ok",
    action: "list",
    requesterSessionKey: parent,
    callerSessionKey: parent,
    callerIsSubagent: depthOfKey(parent) > 0,
    total: entries.length,
    active,
    recent,
    text: lines.length === 0 ? "No subagents." : lines.join("\n"),
  };
}

const STATUS = {
  succeeded: "done",
  failed: "failed",
  cancelled: "killed",
  dead: "failed",
} as const;

function entryOf(child: Session, { index, now }: { readonly index: number; readonly now: number }) {
  const { key, label, model, totalTokens, activeRun, lastRun, createdAt, updatedAt } = child;
  const startedAt = Date.parse(createdAt);
  const endedAt = activeRun === null ? Date.parse(updatedAt) : undefined;
  return {
    index,
    runId: activeRun ?? lastRun?.runId ?? null,
    sessionKey: key,
    label,
    status: activeRun === null && lastRun !== null ? STATUS[lastRun.status] : "running",
    runtimeMs: (endedAt ?? now) - startedAt,
    model,
    totalTokens,
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
  };
}
