import {
  Client,
  type CallToolResult,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { errorText } from "../calls/call-failure.ts";
import type { ChildRecords } from "../process/child-records.ts";
import {
  resolveServer,
  UnsetVariableError,
  type ResolvedServer,
} from "../registry/env-references.ts";
import { watchHealth } from "./session-health.ts";
import { AddressError, createTransport, type SessionTransport } from "./session-transport.ts";
import type { ServerConfig } from "../registry/server-config.ts";
import { SpawnError } from "./stdio-transport.ts";
import type { ListedTool } from "../catalogue/tool-catalogue.ts";
import { createToolRefresh } from "../catalogue/tool-refresh.ts";

/** One connection to an MCP server, from the handshake to its end. */
export interface McpSession {
  readonly tools: readonly ListedTool[];
  /** Name and version that the server gave of itself. */
  readonly serverVersion: string | null;
  readonly protocolVersion: string | null;
  /** Rejects with what the SDK throws; see `call-failure.ts`. */
  callTool(call: ToolCall): Promise<CallToolResult>;
  /** Takes what the configuration keeps secret out of a text, and cuts it. */
  redact(text: string): string;
  /** The end of what the process wrote to stderr, with resolved references put back; empty for HTTP. */
  stderr(): string;
  /** Resolves when the connection is closed and its process group is gone; never rejects. */
  close(): Promise<void>;
}

export interface ToolCall {
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  /** Aborting it tells the server to stop. */
  readonly signal: AbortSignal;
}

export interface SessionEvents {
  /** The connection ended by itself. Nothing is reported before the session is returned. */
  onLost(reason: string): void;
  onToolsChanged(tools: readonly ListedTool[]): void;
  /** Something failed that does not end the connection. */
  onTrouble(problem: string): void;
}

/** Connects, or rejects with ConnectError; aborting the signal gives up at once. */
export type OpenSession = (
  config: ServerConfig,
  events: SessionEvents,
  signal: AbortSignal,
) => Promise<McpSession>;

/** A connection could not be made. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
  /** True when another try cannot help before somebody changes something. */
  readonly permanent: boolean;
  /** Resolves when nothing is left of the attempt: its process may take seconds to end. */
  readonly closed: Promise<void>;
  /** What the process wrote to stderr, with resolved references put back. */
  readonly stderr: string;

  constructor(
    message: string,
    options: { permanent: boolean; closed?: Promise<void>; stderr?: string; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.permanent = options.permanent;
    this.closed = options.closed ?? Promise.resolve();
    this.stderr = options.stderr ?? "";
  }
}

const MAX_SHOWN = 2_000;

/** Connects to servers, with the references in their configuration resolved from `env`. */
export function createSessionOpener(options: {
  env: Readonly<Record<string, string | undefined>>;
  records: ChildRecords;
  version: string;
}): OpenSession {
  return async (config, events, signal) => {
    const { resolved, link } = prepare(config, events, options);
    const show = (text: string): string => resolved.redact(text).slice(0, MAX_SHOWN);
    try {
      return await connect({ config, link, show, events, signal, version: options.version });
    } catch (error) {
      const closed = link.close();
      throw new ConnectError(show(link.describeEnd() ?? errorText(error)), {
        permanent: error instanceof SpawnError,
        closed,
        stderr: link.stderr(),
      });
    }
  };
}

function prepare(
  config: ServerConfig,
  events: SessionEvents,
  options: { env: Readonly<Record<string, string | undefined>>; records: ChildRecords },
): { resolved: ResolvedServer; link: SessionTransport } {
  try {
    const resolved = resolveServer(config, options.env);
    const link = createTransport({
      server: config.id,
      resolved,
      path: options.env["PATH"] ?? "",
      records: options.records,
      onTrouble: (problem) => events.onTrouble(problem),
    });
    return { resolved, link };
  } catch (error) {
    if (!(error instanceof UnsetVariableError || error instanceof AddressError)) throw error;
    throw new ConnectError(error.message, { permanent: true, cause: error });
  }
}

interface Connecting {
  readonly config: ServerConfig;
  readonly link: SessionTransport;
  readonly show: (text: string) => string;
  readonly events: SessionEvents;
  readonly signal: AbortSignal;
  readonly version: string;
}

async function connect({
  config,
  link,
  show,
  events,
  signal,
  version,
}: Connecting): Promise<McpSession> {
  const refresh = createToolRefresh((problem) => events.onTrouble(show(problem)));
  const client = createClient(config, version, () => refresh.request());
  // One budget for the handshake and every page of the list: a slow server cannot stretch it.
  const tools = await withinBudget(config.connectTimeoutMs, signal, async () => {
    await client.connect(link.transport, { timeout: config.connectTimeoutMs });
    return readTools(client, config);
  });

  let isOver = false;
  const finish = (): void => {
    isOver = true;
    health.stop();
    refresh.stop();
  };
  const lose = (reason: string): void => {
    if (isOver) return;
    finish();
    events.onLost(show(reason));
    // The calls in flight are told by the protocol layer; what is left of the process ends meanwhile.
    void client.close();
  };
  const health = watchHealth(client, config.transport, lose);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is no EventTarget
  client.onclose = () => lose(link.describeEnd() ?? "the server closed the connection");
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  client.onerror = () => health.check();
  refresh.start(async () => events.onToolsChanged(await readTools(client, config)));

  const { name, version: serverVersion = "" } = client.getServerVersion() ?? {};
  return {
    tools,
    serverVersion: name === undefined ? null : `${name} ${serverVersion}`.trim(),
    protocolVersion: client.getNegotiatedProtocolVersion() ?? null,
    callTool: ({ tool, args, timeoutMs, signal: callSignal }) =>
      health.during(() =>
        client.callTool(
          { name: tool, arguments: { ...args } },
          { signal: callSignal, timeout: timeoutMs },
        ),
      ),
    redact: show,
    stderr: () => link.stderr(),
    async close() {
      finish();
      await link.close();
    },
  };
}

/** All pages of the list. A server without tools is not asked: the SDK would say so on stdout, where the log goes. */
async function readTools(client: Client, config: ServerConfig): Promise<readonly ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const options = { cacheMode: "refresh", timeout: config.connectTimeoutMs } as const;
  return (await client.listTools(undefined, options)).tools;
}

function createClient(config: ServerConfig, version: string, onToolsChanged: () => void): Client {
  return new Client(
    { name: "switchyard", version },
    {
      // A probe for the newest protocol costs HTTP one request. Over stdio it would meet servers
      // that end at any message before `initialize`, and every stdio server knows that handshake.
      versionNegotiation: { mode: config.transport === "http" ? "auto" : "legacy" },
      jsonSchemaValidator: unchecked,
      listChanged: { tools: { autoRefresh: false, debounceMs: 50, onChanged: onToolsChanged } },
    },
  );
}

/**
 * An output schema is the server's own claim about its own result, and compiling a hostile one can
 * stop the event loop; the result is passed on as it came.
 */
const unchecked: jsonSchemaValidator = {
  getValidator<T>(_schema: JsonSchemaType): JsonSchemaValidator<T> {
    // The SDK reads `data` only to hand it back, so its type is as good as the server's word.
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/** The SDK's timeouts begin with its first request and leave out notifications, so the whole has one of its own. */
async function withinBudget<T>(
  timeoutMs: number,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => over.reject(new Error(`no answer within connectTimeoutMs (${timeoutMs} ms)`)),
    timeoutMs,
  );
  const giveUp = (): void => over.reject(new Error("the broker is stopping"));
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([work(), over.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}
