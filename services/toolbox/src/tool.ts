import type { FileFacts } from "@switchyard/contracts/toolbox/file-access";
import type { RunChat } from "@switchyard/contracts/agent-runner/run-context";
import type { RunSender } from "@switchyard/contracts/agent-runner/run-sender";
import type { BuiltinName } from "@switchyard/contracts/toolbox/toolbox";
import type { z } from "zod";
import type { Workspace } from "./workspace/workspace.ts";

/** The scope of a memory: an agent's for one owner, or the one that all runs of the agent share. */
export interface MemoryScope {
  readonly agent: string;
  /** The user that the run works for; null for the shared one. */
  readonly owner: string | null;
}

/** The caller and the location of a call. All of it comes from the verified run token and the settings, never from the arguments. */
export interface ToolContext {
  readonly workspace: Workspace;
  /** The requester: for a run, the user who requested it. Shared resources are divided by requester. */
  readonly caller: string;
  /** The session id of the calling run, if it has one, or of the session that a claim of the caller named. */
  readonly session: string | null;
  /** The run that calls; null for a person or program. */
  readonly runId: string | null;
  /** The chat that the calling run, or the claimed session's, answers; null for any other call. */
  readonly chat: RunChat | null;
  /** The rights of the calling run, or of the claimed session, for runs that it begins in other sessions; null for any other call. */
  readonly sender: RunSender | null;
  /** The token with which the gateway called for the caller; undefined for a call of a run or a NATS user. */
  readonly userToken: string | undefined;
  readonly correlationId: string;
  /** The same id is the same call, which is made once. */
  readonly callId: string | undefined;
  /** Null for a call without an agent. */
  readonly memory: MemoryScope | null;
  /** Returns why the policy denies the caller a call of another tool; null when it allows it, or when it requires approval. */
  readonly denialOf: (tool: BuiltinName, args: Record<string, unknown>) => Promise<string | null>;
  /** Returns why the policy denies the caller the attachment of a file; null when it allows it. */
  readonly attachmentDenial: (file: FileFacts) => Promise<string | null>;
  /** Returns the workspace for a run of the caller that is about to begin a new session; null where that has no name yet. */
  readonly workspaceOfNewRun: (runId: string) => Promise<Workspace | null>;
  /** The caller's remaining time for the tool, in milliseconds. */
  readonly timeLeftMs: number;
  /** Aborts when the call is cancelled, when its time is over, and when the service has to stop. */
  readonly signal: AbortSignal;
}

export interface ToolResult {
  /** The text for the model. */
  readonly text: string;
  /** The same as data, for programs. */
  readonly structured: Record<string, unknown>;
}

/** A built-in tool. `run` throws ToolError for a call that cannot be executed as requested. */
export interface Tool<I extends z.ZodObject = z.ZodObject> {
  readonly name: BuiltinName;
  readonly description: string;
  readonly input: I;
  /** The reason why it cannot be used here, for callers that call it all the same: it is not listed, and no approval of it is requested. */
  readonly unavailable?: string | undefined;
  /**
   * Names that other systems give to parameters, with the tool's own names. The policy decides about the tool's own. With null, the
   * members of the parameter are parameters themselves.
   */
  readonly aliases?: Readonly<Record<string, string | null>>;
  /** Throws ToolError for a call that can only fail; called before the approval of a person is requested. Changes nothing. */
  check?(args: z.output<I>, workspace: Workspace): Promise<void> | void;
  run(args: z.output<I>, context: ToolContext): Promise<ToolResult>;
}

/** Infers a tool's argument types from its input schema. */
export function defineTool<I extends z.ZodObject>(tool: Tool<I>): Tool<I> {
  return tool;
}
