import { cutText } from "@switchyard/contracts/cut-text";
import { isError } from "@switchyard/contracts/errors";
import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import {
  listSessions,
  sendToSession,
  type Session,
} from "@switchyard/contracts/agent-runner/sessions";
import { z } from "zod";
import { defineTool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { asToolError } from "./as-caller.ts";
import { announceTo } from "./announce-to.ts";
import { jsonResult } from "./json-result.ts";
import { markedBy, viewerOf, type AccessParts } from "./session-access.ts";
import { senderFor } from "./sender-for.ts";
import { depthOfKey, markBelow, markBeside } from "./session-names.ts";
import { callerShape, NO_SESSION } from "./session-tools.ts";

/** The minimum interval between two steer messages to the same session [F12]. */
const STEER_MS = 2_000;
const KEPT_STEERS = 1_000;
/** Characters of a task in the list. */
const MAX_TASK = 500;
const DEFAULT_RECENT_MINUTES = 30;

/** `subagents` [F12]: the sessions that `sessions_spawn` started from the caller's. */
export function createSubagentsTool(parts: AccessParts, now: () => number) {
  const { asCaller } = parts;
  const steers = createPauses(now);
  return defineTool({
    name: "subagents",
    aliases: { params: null },
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
      ...callerShape,
    }),
    async run({ action, target = "", message = "", recentMinutes, ...said }, context) {
      const viewer = await viewerOf(parts, context, said);
      const caller = viewer.session ?? NO_SESSION;
      const { maxSpawnDepth } = (await parts.settings()).subagents;
      // A session that can start nothing sees its siblings.
      const beside = depthOfKey(caller) < maxSpawnDepth ? null : markBeside(caller);
      const mark = beside ?? markBelow(caller);
      const depth = depthOfKey(caller) + (beside === null ? 1 : 0);
      const children = (await markedBy(asCaller, context, mark)).filter(
        ({ key }) => depthOfKey(key) === depth,
      );
      if (action === "list") {
        const tasks = await tasksOf(parts, context, children);
        const requester = beside === null ? caller : await parentOf(parts, context, caller);
        return jsonResult(listed(children, { caller, requester, tasks, recentMinutes }));
      }
      if (target === "") throw new ToolError(`${action} needs a target; subagents list has them.`);
      if (action === "kill") return kill(parts, context, { children, mark, target });
      if (message.trim() === "") throw new ToolError("steer needs a message.");
      if (message.length > 4_000)
        throw new ToolError(`Message too long (${message.length} chars, max 4000).`);
      const child = oneOf(children, target);
      if (child.key === caller) throw new ToolError("Subagents cannot steer themselves.");
      const waitMs = steers.take(`${context.caller} ${child.sessionId}`);
      if (waitMs > 0)
        return jsonResult({
          status: "rate_limited",
          error: `It was steered less than ${STEER_MS / 1_000} s ago; steer it again in ${waitMs} ms.`,
          ...named(child),
        });
      // The interrupted run announces nothing.
      const followUp = announceTo(viewer, { label: child.label, endsSession: false });
      const { runId } = await asCaller(context, sendToSession, {
        session: child.sessionId,
        message,
        onBusy: "interrupt",
        ...senderFor(context),
        ...(followUp !== null && { followUp }),
      }).catch(asToolError);
      return jsonResult({ status: "accepted", mode: "restart", runId, ...named(child) });
    },
  });
}

/** The pauses are per process: other toolbox processes do not share them, so several permit as many. */
function createPauses(now: () => number) {
  const ends = new Map<string, number>();
  return {
    /** Returns 0 and begins a pause, or returns the rest of the last one. */
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
  parts: AccessParts,
  context: ToolContext,
  asked: { readonly children: readonly Session[]; readonly mark: string; readonly target: string },
) {
  const { children, target } = asked;
  const isAll = target === "all" || target === "*";
  const one = isAll ? null : oneOf(children, target);
  const chosen = one === null ? children : [one];
  const labels: string[] = [];
  for (const child of chosen)
    if (await end(parts, context, child)) labels.push(child.label ?? child.key);
  // The sessions above are ended first and then start nothing more; a session in between may have ended or be gone.
  const mark = one === null ? asked.mark : markBelow(one.key);
  const ended = new Set(chosen.map(({ key }) => key));
  const below = (await markedBy(parts.asCaller, context, mark))
    .filter(({ key }) => !ended.has(key))
    .toSorted((left, right) => depthOfKey(left.key) - depthOfKey(right.key));
  let cascadeKilled = 0;
  for (const session of below) if (await end(parts, context, session)) cascadeKilled += 1;
  if (labels.length + cascadeKilled > 0 || isAll) {
    const counts = { killed: labels.length, cascadeKilled };
    return jsonResult({ status: "ok", action: "kill", ...counts, labels });
  }
  return jsonResult({ status: "done", action: "kill", text: "already finished" });
}

/** True when it was under way. */
async function end(
  { asCaller }: AccessParts,
  context: ToolContext,
  { activeRun }: Session,
): Promise<boolean> {
  if (activeRun === null) return false;
  const request = { runId: activeRun, reason: "killed by subagents" };
  const { outcome } = await asCaller(context, requestCancel, request).catch(asToolError);
  return outcome !== "ended";
}

/** Finds a session by number, key, id, run, label, or the beginning of a label or run id. */
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

/** Returns the input of the run of each session, its beginning; null where the run is gone. */
async function tasksOf(
  { asCaller }: AccessParts,
  context: ToolContext,
  children: readonly Session[],
): Promise<(string | null)[]> {
  return Promise.all(
    children.map(async (child) => {
      const runId = runOf(child);
      if (runId === "") return null;
      try {
        const { run } = await asCaller(context, getRun, { runId });
        return cutText(inputText(run.input), MAX_TASK);
      } catch (error) {
        if (isError(error, getRun, "unknown_run")) return null;
        return asToolError(error);
      }
    }),
  );
}

/** Returns the session above a spawned one: its key is the one whose mark the spawned key has. */
async function parentOf(
  { asCaller }: AccessParts,
  context: ToolContext,
  key: string,
): Promise<string | null> {
  const { sessions } = await asCaller(context, listSessions, { limit: 200 }).catch(asToolError);
  const beside = markBeside(key);
  return sessions.find((session) => markBelow(session.key) === beside)?.key ?? null;
}

function listed(
  children: readonly Session[],
  {
    caller,
    requester,
    tasks,
    recentMinutes,
  }: {
    readonly caller: string;
    /** The session that started them; null when it is gone. */
    readonly requester: string | null;
    readonly tasks: readonly (string | null)[];
    readonly recentMinutes: number;
  },
) {
  const now = Date.now();
  const entries = children.map((child, index) =>
    entryOf(child, { index: index + 1, now, task: tasks[index] ?? null }),
  );
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
    requesterSessionKey: requester,
    callerSessionKey: caller,
    callerIsSubagent: depthOfKey(caller) > 0,
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

function entryOf(
  child: Session,
  {
    index,
    now,
    task,
  }: { readonly index: number; readonly now: number; readonly task: string | null },
) {
  const { key, label, model, totalTokens, activeRun, lastRun, createdAt, updatedAt } = child;
  const startedAt = Date.parse(createdAt);
  const endedAt = activeRun === null ? Date.parse(updatedAt) : undefined;
  return {
    index,
    runId: activeRun ?? lastRun?.runId ?? null,
    sessionKey: key,
    label,
    task,
    runtime: "subagent",
    status: activeRun === null && lastRun !== null ? STATUS[lastRun.status] : "running",
    runtimeMs: (endedAt ?? now) - startedAt,
    model,
    totalTokens,
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
  };
}
