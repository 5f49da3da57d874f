import type { Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { BuiltinInfo } from "@switchyard/contracts/toolbox/toolbox";

/** A tool as a client sees it, with all other members of the definition of an MCP server's tool. */
export type OfferedTool = Pick<BuiltinInfo, "name" | "inputSchema"> & {
  readonly description?: string | undefined;
  readonly [member: string]: unknown;
};

export interface CallRequest {
  readonly name: string;
  readonly args: Record<string, unknown>;
  /** Calls with the same id are one call: it is executed once. */
  readonly callId: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Metadata of the client for an MCP server. */
  readonly meta?: Record<string, unknown> | undefined;
}

export interface CallReply {
  readonly content: readonly { readonly type: string }[];
  readonly structuredContent?: unknown;
  readonly _meta?: unknown;
  readonly isError: boolean;
}

/** The provider of the tools. All methods reject with a BackendError. */
export interface Backend {
  /** The platform tools that the policy lets the caller use; with `all` everything else that it may use, too. */
  tools(scope: "platform" | "all", signal: AbortSignal): Promise<readonly OfferedTool[]>;
  call(request: CallRequest): Promise<CallReply>;
  /** The questions of an MCP server that wait for an answer of the caller's person. */
  questions(server: string, signal: AbortSignal): Promise<readonly OpenQuestion[]>;
  close(): Promise<void>;
}

export type OpenQuestion = Pick<
  Question,
  "id" | "server" | "message" | "url" | "askedAt" | "expiresAt"
>;

/** Reason of a failure, under the code of the contract. */
export class BackendError extends Error {
  override readonly name = "BackendError";
  readonly code: string;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, data: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = typeof data === "object" && data !== null ? { ...data } : {};
  }
}

/** The prefix of the names of agents that are offered as tools. */
export const AGENT_TOOL = "agent__";

export function agentTool({ name, description }: { name: string; description: string }) {
  return {
    name: `${AGENT_TOOL}${name}`,
    description: `Runs the agent ${name} and answers with its answer. ${description}`,
    inputSchema: {
      type: "object" as const,
      properties: {
        input: { type: "string", description: "What the agent is to do" },
        session: { type: "string", description: "Key of a conversation to continue" },
      },
      required: ["input"],
      additionalProperties: false,
    },
  };
}

/** The message that an agent's tool sends to a session; a new session where none is named. */
export function agentMessage({ name, args, callId }: CallRequest) {
  const { input, session } = args;
  if (typeof input !== "string" || input === "")
    throw new BackendError("invalid_arguments", "input has to be a text that is not empty", null);
  return {
    agent: name.slice(AGENT_TOOL.length),
    session: typeof session === "string" && session !== "" ? session : `mcp:${callId}`,
    message: input,
  };
}

export function agentReply(sent: {
  readonly status: string;
  readonly runId: string;
  readonly reply?: string | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}): CallReply {
  const { status, runId, reply, error } = sent;
  const isError = status !== "ok";
  const text =
    reply ??
    (error === undefined
      ? `The run ${runId} is still under way: read its session later with sessions_history.`
      : `${error.code}: ${error.message} (run ${runId})`);
  const content = [{ type: "text", text }];
  return { content, structuredContent: { status, runId }, isError };
}

/** Limit for an agent's answer, in seconds. */
export const AGENT_SECONDS = 290;

/** The server of a canonical name; null for a built-in tool. */
export function serverOf(name: string): string | null {
  return /^mcp__([a-z0-9][a-z0-9-]{0,23})__./.exec(name)?.[1] ?? null;
}
