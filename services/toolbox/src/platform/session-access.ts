import { isError } from "@switchyard/contracts/errors";
import { matchesGlob } from "@switchyard/contracts/glob";
import {
  getSession,
  listSessions,
  type Session,
} from "@switchyard/contracts/agent-runner/sessions";
import type { ToolContext } from "../tool.ts";
import { asToolError, type AsCaller } from "./as-caller.ts";
import { agentOfKey, depthOfKey, markBelow } from "./session-names.ts";
import type { CurrentSettings } from "@switchyard/service/settings-file";
import type { ToolSettings } from "./tool-settings.ts";

type Action = "history" | "send" | "status" | "list";

/** The viewer of sessions. A person or program has no session of its own, and sees all its sessions. */
export interface Viewer {
  readonly session: string | null;
  /** The agent of that session; null when none has answered yet. */
  readonly agent: string | null;
  readonly isSandboxed: boolean;
}

/** A session that a caller wants to reach; it need not exist. */
export interface Wanted {
  readonly key: string;
  /** Null: no agent has answered in it yet. */
  readonly agent: string | null;
}

export interface AccessParts {
  readonly asCaller: AsCaller;
  readonly settings: CurrentSettings<ToolSettings>;
  /** True when commands of runs are confined. */
  readonly isConfined: boolean;
}

const SAID = {
  history: { about: "Session history", other: "history", what: "access" },
  send: { about: "Session send", other: "messaging", what: "sends" },
  status: { about: "Session status", other: "status", what: "access" },
  list: { about: "Session list", other: "listing", what: "visibility" },
} as const satisfies Record<Action, unknown>;
const NOT_FROM_SANDBOX = "Session not visible from this sandboxed agent session.";

/** Returns the viewer of a call: the session of its run, that of a confirmed claim, or the session named by the client. */
export async function viewerOf(
  { asCaller, isConfined }: AccessParts,
  context: ToolContext,
  said: CallerSaid,
): Promise<Viewer> {
  const { callerSession = null, callerSandboxed = false } = said;
  const { runId, session } = context;
  if (runId === null) {
    const claimed = session === null ? null : await findSession(asCaller, context, session);
    const found =
      claimed ??
      (callerSession === null ? null : await findSession(asCaller, context, callerSession));
    const agent = found?.agent ?? agentOfKey(callerSession ?? "");
    return { session: found?.key ?? callerSession, agent, isSandboxed: callerSandboxed };
  }
  const found = session === null ? null : await findSession(asCaller, context, session);
  // A run without a session sees none: no key has this form.
  const key = found?.key ?? `run ${runId}`;
  const agent = found?.agent ?? context.memory?.agent ?? null;
  return { session: key, agent, isSandboxed: isConfined };
}

/** Facts that the client sets, and no model. */
export interface CallerSaid {
  readonly callerSession?: string | undefined;
  readonly callerSandboxed?: boolean | undefined;
}

/** The session of a key or id that the caller owns; null when there is none. */
export async function findSession(
  asCaller: AsCaller,
  context: ToolContext,
  session: string,
): Promise<Session | null> {
  try {
    return (await asCaller(context, getSession, { session })).session;
  } catch (error) {
    if (isError(error, getSession, "unknown_session")) return null;
    return asToolError(error);
  }
}

/** Returns why the viewer may not reach a session; null when it may. */
export async function refusalOf(
  parts: AccessParts,
  context: ToolContext,
  asked: { readonly viewer: Viewer; readonly wanted: Wanted; readonly action: Action },
): Promise<string | null> {
  const { viewer, wanted } = asked;
  if (viewer.session === null || viewer.session === wanted.key) return null;
  const tree = await treeOf(parts, context, viewer.session);
  return refused(await parts.settings(), { ...asked, isInTree: tree.has(wanted.key) });
}

/** Returns the sessions that the viewer may see. */
export async function visibleOf<S extends Wanted>(
  parts: AccessParts,
  context: ToolContext,
  { viewer, sessions }: { readonly viewer: Viewer; readonly sessions: readonly S[] },
): Promise<readonly S[]> {
  if (viewer.session === null) return sessions;
  const settings = await parts.settings();
  const tree = await treeOf(parts, context, viewer.session);
  return sessions.filter((wanted) => {
    const isInTree = tree.has(wanted.key);
    return refused(settings, { viewer, wanted, action: "list", isInTree }) === null;
  });
}

/** Applies the rules in their order: the viewer's own session, the sandbox, the visibility, other agents. */
export function refused(
  { sessions: { visibility }, agentToAgent, sandbox }: ToolSettings,
  asked: {
    readonly viewer: Viewer;
    readonly wanted: Wanted;
    readonly action: Action;
    /** True when the viewer's session started it. */
    readonly isInTree: boolean;
  },
): string | null {
  const { viewer, wanted, action, isInTree } = asked;
  const { about, other, what } = SAID[action];
  if (wanted.key === viewer.session) return null;
  if (visibility === "self")
    return `${about} visibility is restricted to the current session (tools.sessions.visibility=self).`;
  if (isInTree) return null;
  if (viewer.isSandboxed && sandbox.sessions === "spawned") return NOT_FROM_SANDBOX;
  if (visibility === "tree")
    return `${about} visibility is restricted to the current session tree (tools.sessions.visibility=tree).`;
  const agent = wanted.agent ?? agentOfKey(wanted.key);
  if (agent !== null && agent === viewer.agent) return null;
  if (visibility === "agent")
    return `${about} visibility is restricted. Set tools.sessions.visibility=all to allow cross-agent access.`;
  const { enabled, allow } = agentToAgent;
  if (!enabled)
    return `Agent-to-agent ${other} is disabled. Set tools.agentToAgent.enabled=true to allow cross-agent ${what}.`;
  const areAllowed = [viewer.agent, agent].every((one) => isAmong(allow, one ?? ""));
  return areAllowed ? null : `Agent-to-agent ${other} denied by tools.agentToAgent.allow.`;
}

/** True when one of the patterns matches. */
export function isAmong(patterns: readonly string[], agent: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, agent));
}

/** Returns the keys of the sessions that were started from a session, at any depth. */
async function treeOf(
  { asCaller }: AccessParts,
  context: ToolContext,
  session: string,
): Promise<ReadonlySet<string>> {
  const below = await markedBy(asCaller, context, markBelow(session));
  return new Set(below.map(({ key }) => key));
}

/** Returns the sessions that a session started directly, the one used last first. */
export async function childrenOf(
  asCaller: AsCaller,
  context: ToolContext,
  parent: string,
): Promise<Session[]> {
  const depth = depthOfKey(parent) + 1;
  const below = await markedBy(asCaller, context, markBelow(parent));
  return below.filter(({ key }) => depthOfKey(key) === depth);
}

/** Returns sessions whose keys have a mark of `markBelow` or `markBeside`. */
export async function markedBy(
  asCaller: AsCaller,
  context: ToolContext,
  mark: string,
): Promise<Session[]> {
  // The text search matches labels too, so the keys are checked.
  return (await sessionsNamed(asCaller, context, mark)).filter(({ key }) => key.includes(mark));
}

/** All sessions with a text in their key or label. */
export async function sessionsNamed(
  asCaller: AsCaller,
  context: ToolContext,
  search: string,
): Promise<Session[]> {
  const found: Session[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const query = { search, limit: 200, ...(cursor !== undefined && { cursor }) };
    const page = await asCaller(context, listSessions, query).catch(asToolError);
    found.push(...page.sessions);
    cursor = page.next;
  }
  return found;
}
