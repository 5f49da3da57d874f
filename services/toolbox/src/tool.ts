import type { BuiltinName } from "@switchyard/contracts/toolbox";
import type { z } from "zod";
import type { Workspace } from "./workspace/workspace.ts";

/** Whose memory is meant: an agent's for one owner, or the one that all runs of the agent share. */
export interface MemoryScope {
  readonly agent: string;
  /** The user that the run works for; null for the shared one. */
  readonly owner: string | null;
}

/** Who calls, and where. All of it comes from the verified run token and the settings, never from the arguments. */
export interface ToolContext {
  readonly workspace: Workspace;
  /** Who asked for it: of a run its requester. Shares of what all callers use together are by it. */
  readonly caller: string;
  /** Of the run that calls, when it has one: the id of its session. */
  readonly session: string | null;
  /** The run that calls; null for a person or program. */
  readonly runId: string | null;
  /** With which the gateway asked for the caller; undefined when it is a run's or a NATS user's call. */
  readonly userToken: string | undefined;
  readonly correlationId: string;
  /** The same id is the same call, which is made once. */
  readonly callId: string | undefined;
  /** Null for a call without a run. */
  readonly memory: MemoryScope | null;
  /** Why the policy denies the caller a call of another tool; null when it allows it, or when a person would be asked. */
  readonly denialOf: (tool: BuiltinName, args: Record<string, unknown>) => Promise<string | null>;
  /** Where a run of the caller works that is about to begin a new session; null where that has no name yet. */
  readonly workspaceOfNewRun: (runId: string) => Promise<Workspace | null>;
  /** What the caller's time leaves for the tool, in milliseconds. */
  readonly timeLeftMs: number;
  /** Aborts when the call is cancelled, when its time is over, and when the service has to stop. */
  readonly signal: AbortSignal;
}

export interface ToolResult {
  /** What the model reads. */
  readonly text: string;
  /** The same as data, for programs. */
  readonly structured: Record<string, unknown>;
}

/** A built-in tool. `run` throws ToolError for a call that cannot be done as asked. */
export interface Tool<I extends z.ZodObject = z.ZodObject> {
  readonly name: BuiltinName;
  readonly description: string;
  readonly input: I;
  /** Why it cannot be used here, for whoever calls it all the same: it is not listed, and nobody is asked to approve it. */
  readonly unavailable?: string | undefined;
  /** True for what runs have of the runner, in a form that keeps the child within the rights of its parent; a text says another reason. */
  readonly notForRuns?: boolean | string;
  run(args: z.output<I>, context: ToolContext): Promise<ToolResult>;
}

/** Gives a tool the argument types of its input schema. */
export function defineTool<I extends z.ZodObject>(tool: Tool<I>): Tool<I> {
  return tool;
}
