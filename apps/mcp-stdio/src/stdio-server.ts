import { randomUUID } from "node:crypto";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type Tool,
} from "@modelcontextprotocol/server";
import {
  clientStructuredContent,
  withObjectOutput,
} from "@switchyard/contracts/mcp-broker/client-tool";
import { knownContent } from "@switchyard/contracts/mcp-broker/content-blocks";
import { cutText } from "@switchyard/contracts/cut-text";
import { ownCallMeta } from "@switchyard/contracts/mcp-broker/mcp";
import { howToAnswer } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { builtinTimeoutMs } from "@switchyard/contracts/toolbox/toolbox";
import { recordSideEffect } from "@switchyard/service/side-effects";
import { sideEffectsOf } from "@switchyard/service/side-effects-of";
import {
  AGENT_SECONDS,
  AGENT_TOOL,
  BackendError,
  type Backend,
  serverOf,
  type CallReply,
  type OfferedTool,
} from "./backend.ts";
import type { ServerEnvironment } from "./environment.ts";
import { isOffered } from "./offered-tools.ts";
import { createParkedCalls } from "./parked-calls.ts";

/** True when the client speaks a revision before 2026-07-28. */
type Era = "legacy" | "modern";

export interface StdioServerOptions {
  readonly environment: ServerEnvironment;
  readonly scope: "platform" | "all";
  readonly backend: () => Promise<Backend>;
  readonly version: string;
  readonly era: Era;
  /** A fault of our own, or a list that could not be got. */
  readonly onError: (error: unknown) => void;
}

/** Limit for one call's wait for a person, in milliseconds: clients time out after some tens of seconds. */
const APPROVAL_WAIT_MS = 20_000;
const LOOK_EVERY_MS = 1_000;
const MAX_WAITING = 100;

/**
 * Arguments that describe the caller's location, and the fields that fill them in. Those about the caller are hidden from models.
 */
const FILLED = {
  callerSession: "sessionKey",
  callerSandboxed: "sandboxed",
  channel: "channel",
  accountId: "accountId",
  originChannel: "channel",
  originAccountId: "accountId",
  originTo: "to",
  originMessageId: "messageId",
  originThreadId: "threadId",
} as const satisfies Record<string, keyof ServerEnvironment>;
const HIDDEN: ReadonlySet<string> = new Set([
  "callerSession",
  "callerSandboxed",
  "originChannel",
  "originAccountId",
  "originTo",
  "originThreadId",
  "originMessageId",
]);

/** The MCP server of one coding agent: tools from the backend, narrowed by its starter's settings. */
export function createStdioServer(options: StdioServerOptions): Server {
  const { environment, scope, backend, version, era } = options;
  const server = new Server(
    { name: "switchyard", title: "Switchyard", version },
    // The policy may change at any time, and with it the tools of both scopes.
    { capabilities: { tools: { listChanged: true } } },
  );
  /** Parameters of each tool, for filling in. */
  let known: ReadonlyMap<string, ReadonlySet<string>> | null = null;
  /** The ids of calls that wait for a person, by their content. */
  const waiting = new Map<string, string>();
  const parked = createParkedCalls<Awaited<ReturnType<typeof callOrWait>>>();

  const watch = watchList(server, async () =>
    (await list(AbortSignal.timeout(LIST_EVERY_MS))).map((tool) => shownTool(tool, era)),
  );
  const list = async (signal: AbortSignal) => {
    const tools = (await (await backend()).tools(scope, signal)).filter(({ name }) =>
      isOffered(name, environment, scope),
    );
    known = new Map(tools.map(({ name, inputSchema }) => [name, parametersOf(inputSchema)]));
    return tools;
  };

  server.setRequestHandler("tools/list", async (_request, { mcpReq }) => {
    try {
      const tools = (await list(mcpReq.signal)).map((tool) => shownTool(tool, era));
      watch.listed(tools);
      return { tools };
    } catch (error) {
      throw protocolError(error, options);
    }
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { name, arguments: given = {} } = params;
    if (!isOffered(name, environment, scope)) throw unknownTool(name);
    try {
      if (known === null) await list(mcpReq.signal);
      const args = filledIn(given, known?.get(name) ?? new Set(), environment);
      const same = `${name} ${JSON.stringify(args)}`;
      const callId = waiting.get(same) ?? `mcp-${randomUUID()}`;
      const timeoutMs = name.startsWith(AGENT_TOOL)
        ? AGENT_SECONDS * 1_000
        : builtinTimeoutMs(name, args);
      const { _meta: meta, signal } = mcpReq;
      const call = { name, args, callId, timeoutMs, signal, meta: ownCallMeta(meta) };
      const connected = await backend();
      const owner = serverOf(name);
      const begin = () => callOrWait(connected, call, options);
      const made =
        owner === null
          ? { result: await begin() }
          : await parked.make(same, begin, () => connected.questions(owner, signal));
      if ("question" in made) return errorResult(`question_pending: ${howToAnswer(made.question)}`);
      const reply = made.result;
      if (reply.waits) keepWaiting(waiting, same, callId);
      else waiting.delete(same);
      return reply.result;
    } catch (error) {
      if (error instanceof BackendError && error.code === "unknown_tool") throw unknownTool(name);
      if (error instanceof BackendError) return errorResult(`${error.code}: ${error.message}`);
      throw protocolError(error, options);
    }
  });
  return server;
}

/** The list is compared with the one that the client has at this interval, in milliseconds: the process of a client has no events of its own. */
const LIST_EVERY_MS = 5_000;

/** Notifies the client when the tools differ from its list [X41]. */
function watchList(server: Server, list: () => Promise<readonly Tool[]>) {
  let known = "";
  let timer: NodeJS.Timeout | null = null;
  const compare = async (): Promise<void> => {
    const now = JSON.stringify(await list());
    if (now === known) return;
    known = now;
    await server.sendToolListChanged();
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's server is not an EventTarget
  server.onclose = () => {
    if (timer !== null) clearInterval(timer);
  };
  return {
    listed(tools: readonly Tool[]): void {
      known = JSON.stringify(tools);
      // After a failed read the list is compared at the next interval.
      timer ??= setInterval(() => void compare().catch(() => {}), LIST_EVERY_MS).unref();
    },
  };
}

type Call = Parameters<Backend["call"]>[0];

/** A call that needs a person's approval is repeated until it is decided, for as long as clients wait. */
async function callOrWait(
  backend: Backend,
  call: Call,
  { environment, era }: StdioServerOptions,
): Promise<{ readonly result: CallToolResult; readonly waits: boolean }> {
  const until = Date.now() + APPROVAL_WAIT_MS;
  for (;;) {
    try {
      const reply = await backend.call(call);
      await record(call, { reply, isUnknown: false, environment });
      return { result: resultOf(reply, era), waits: false };
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      if (UNKNOWN.has(error.code))
        await record(call, { reply: null, isUnknown: true, environment });
      if (error.code !== "approval_required") throw error;
      if (Date.now() >= until || call.signal.aborted) {
        const { approvalId, expiresAt } = error.data;
        const text = `approval_required: nothing was done. The call waits until ${String(expiresAt)} for a person, who can decide with: yard approvals approve ${String(approvalId)}. Then make the same call again.`;
        return { result: errorResult(text), waits: true };
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}

/** Codes after which it is unknown whether a message was sent. */
const UNKNOWN: ReadonlySet<string> = new Set([
  "tool_timeout",
  "outcome_unknown",
  "timeout",
  "deadline_exceeded",
]);

/** Written to the disk before the reply, so before the agent continues [F37]. */
async function record(
  { name, args }: Call,
  made: {
    readonly reply: CallReply | null;
    readonly isUnknown: boolean;
    readonly environment: ServerEnvironment;
  },
): Promise<void> {
  const { reply, isUnknown, environment } = made;
  const { sideEffectsFile: file } = environment;
  if (file === null) return;
  // A tool's own words for a message that may have been delivered.
  const text = reply?.isError === true ? JSON.stringify(reply.content) : "";
  const isUnsure = isUnknown || text.includes("TIMEOUT_UNKNOWN");
  if (reply?.isError === true && !isUnsure) return;
  const said = reply?.structuredContent;
  const structured = typeof said === "object" && said !== null ? { ...said } : {};
  const about = { name, args, structured, isUnknown: isUnsure, at: Date.now() };
  for (const effect of sideEffectsOf(about, environment)) await recordSideEffect(file, effect);
}

function keepWaiting(waiting: Map<string, string>, same: string, callId: string): void {
  waiting.set(same, callId);
  const [oldest] = waiting.keys();
  if (waiting.size > MAX_WAITING && oldest !== undefined) waiting.delete(oldest);
}

function parametersOf(schema: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const { properties } = schema;
  return new Set(Object.keys(typeof properties === "object" && properties ? properties : {}));
}

function filledIn(
  given: Readonly<Record<string, unknown>>,
  parameters: ReadonlySet<string>,
  environment: ServerEnvironment,
): Record<string, unknown> {
  const args = { ...given };
  for (const [name, field] of Object.entries(FILLED)) {
    if (!parameters.has(name)) continue;
    const value = environment[field];
    // A model must not change the environment's facts about the caller.
    if (HIDDEN.has(name)) delete args[name];
    if (args[name] === undefined && value !== null) args[name] = value;
  }
  return args;
}

function shownTool(offered: OfferedTool, era: Era): Tool {
  const tool = offered as Tool; // the broker and the contracts give it the protocol's form
  // Only the tools of the platform have parameters that the environment fills in.
  if (serverOf(tool.name) !== null) return era === "legacy" ? withObjectOutput(tool) : tool;
  const { name, description, inputSchema } = tool;
  const { properties = {}, ...schema } = inputSchema;
  const shown = Object.entries(properties).filter(([parameter]) => !HIDDEN.has(parameter));
  return {
    name,
    description,
    inputSchema: { ...schema, properties: Object.fromEntries(shown) },
  };
}

function resultOf(reply: CallReply, era: Era): CallToolResult {
  const { content, structuredContent, _meta: meta, isError } = reply;
  return {
    // Clients refuse an invalid result, and would then repeat the call.
    content: knownContent(content),
    ...clientStructuredContent(structuredContent, era),
    ...(meta !== undefined && { _meta: meta }),
    ...(isError && { isError }),
  } as CallToolResult; // its blocks are of the protocol's types
}

function errorResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function unknownTool(name: string): ProtocolError {
  const text = `there is no tool ${cutText(name, 100)} for you: tools/list has those that you may call`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, text);
}

function protocolError(error: unknown, { onError }: StdioServerOptions): unknown {
  if (error instanceof ProtocolError) return error;
  onError(error);
  const text = error instanceof Error ? error.message : "the server failed by a fault of its own";
  return new ProtocolError(ProtocolErrorCode.InternalError, text);
}
