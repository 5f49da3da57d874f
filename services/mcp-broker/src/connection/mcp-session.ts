import {
  LOG_LEVEL_META_KEY,
  StreamableHTTPClientTransport,
  type Client,
  type RequestMethod,
  type RequestOptions,
  type ServerCapabilities,
  type Tool,
} from "@modelcontextprotocol/client";
import { inSpan, type SpanFacts } from "@switchyard/bus/tracing";
import type { LogLevel } from "@switchyard/contracts/mcp-broker/mcp-features";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { InspectedListing, InspectedTool } from "../catalogue/inspect-tools.ts";
import type { ReadTools } from "../catalogue/tool-reader.ts";
import type { ToolRefresh } from "../catalogue/tool-refresh.ts";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { shownInstructions } from "../findings/shown-instructions.ts";
import { unlessAsked } from "../limits/old-question.ts";
import { isModern } from "./connect-approach.ts";
import type { ChangeSubscription } from "./change-subscription.ts";
import { watchHealth } from "./session-health.ts";
import type { ToolResult } from "../normalise/tool-result.ts";
import { anyResult, uncarriedResult } from "./carried-result.ts";
import type { RequestLane, RequestLimits } from "./request-lane.ts";
import type { SessionTransport } from "./session-transport.ts";

/** One connection to an MCP server, from the handshake to its end. */
export interface McpSession {
  readonly tools: readonly InspectedTool[];
  /** Entries of its list that are not usable tools, in words. */
  readonly problems: readonly string[];
  /** Name and version that the server declared. */
  readonly serverVersion: string | null;
  readonly protocolVersion: string | null;
  /** True when nothing at the server is bound to this connection. */
  readonly isStateless: boolean;
  /** The capabilities that the server declared. */
  readonly capabilities: ServerCapabilities;
  /** The server's instructions to a model on how to use it; null without any, and where they are not passed on. */
  readonly instructions: string | null;
  /** Rejects with what the SDK throws; see `call-failure.ts`. */
  callTool(call: ToolCall): Promise<ToolResult>;
  /** Any other request of the specification, answered with its whole result; rejects as `callTool` does. */
  request(request: SessionRequest): Promise<Readonly<Record<string, unknown>>>;
  /**
   * With 2026-07-28 every request states from which level the server's log messages are wanted: true, and the next requests state
   * this level. False with the protocols that have a request for it.
   */
  wantLogs(level: LogLevel): boolean;
  /** Notifies the server that its roots have changed. With 2026-07-28 it requests them each time that it needs them. */
  rootsChanged(): Promise<void>;
  /** Subscribes to the updates of these resources, replacing the earlier ones; updates come to the hooks. */
  watchResources(uris: readonly string[]): Promise<void>;
  /** Makes the next connection speak a revision before 2026-07-28; null where there is none to step back to. */
  readonly stepBack: (() => Promise<void>) | null;
  /** Reads the tool list again; rejects with what the server answers. */
  refreshTools(): Promise<void>;
  /** Removes the configuration's secrets from a text, and cuts it. */
  redact(text: string): string;
  /** The end of what the process wrote to stderr, with resolved references put back; empty for HTTP. */
  stderr(): string;
  /** Resolves when the connection is closed and its process group is gone; never rejects. */
  close(): Promise<void>;
  /** Like `close`, once the requests under way have ended or the signal is aborted. No further one may be sent. */
  closeWhenIdle(signal: AbortSignal): Promise<void>;
}

export interface ToolCall extends RequestLimits {
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Metadata of the client; the broker's own entries take precedence. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** The tool as the server listed it: 2026-07-28 repeats some arguments in headers that it declares there. */
  readonly definition?: Readonly<Record<string, unknown>> | undefined;
}

export interface SessionRequest extends Pick<RequestLimits, "timeoutMs" | "onProgress"> {
  readonly method: RequestMethod;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | undefined;
}

export interface SessionEvents {
  /** The connection ended by itself. No end is reported before the session is returned. */
  onLost(reason: string): void;
  onToolsChanged(listing: InspectedListing): void;
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
  /** True when a retry cannot help before a person changes something. */
  readonly permanent: boolean;
  /** Resolves when nothing is left of the attempt: its process may take seconds to end. */
  readonly closed: Promise<void>;
  /** The end of the process's stderr, with resolved references put back. */
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

/** A connection that has passed the handshake, with the parts that maintain it. */
export interface OpenedConnection {
  readonly client: Client;
  readonly link: SessionTransport;
  readonly changes: ChangeSubscription;
  readonly refresh: ToolRefresh;
  readonly read: ReadTools;
  /** Remembers that the server's tools ask in the way of earlier revisions; null where that would change nothing. */
  readonly rememberOlder: (() => Promise<void>) | null;
  /** Reads the tools again. */
  readonly readTools: () => Promise<ReadTools>;
  /** True when the connection ended before the session was put together. */
  readonly isClosed: () => boolean;
}

/** Creates the session. From then on its end is reported, and its list is read again when it changes. */
export function keepSession(
  opened: OpenedConnection,
  context: {
    config: ServerConfig;
    events: SessionEvents;
    show: (text: string) => string;
  },
): McpSession {
  const { client, link, changes, refresh, read, readTools, rememberOlder } = opened;
  const { config, events, show } = context;
  let isOver = false;
  const finish = (): void => {
    isOver = true;
    health.stop();
    refresh.stop();
    changes.stop();
  };
  const lose = (reason: string): void => {
    if (isOver) return;
    finish();
    events.onLost(show(reason));
    // The protocol layer rejects the calls in flight; the rest of the process ends meanwhile.
    client.close().catch(() => undefined); // it is lost already
  };
  const health = watchHealth(client, config.transport, lose);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is not an EventTarget
  client.onclose = () => lose(link.describeEnd() ?? "the server closed the connection");
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is not an EventTarget
  client.onerror = () => health.check();
  refresh.start(async () => {
    const { listing, ttlMs } = await readTools();
    events.onToolsChanged(listing);
    return ttlMs;
  }, read.ttlMs);
  const inFlight = new Set<Promise<unknown>>();
  const close = async (): Promise<void> => {
    finish();
    await link.close();
  };
  const sent = requests(client, link.lane, {
    during(call) {
      const running = health.during(call);
      inFlight.add(running);
      const forget = (): void => void inFlight.delete(running);
      running.then(forget, forget);
      return running;
    },
  });
  const orOldQuestion =
    rememberOlder === null ? <T>(send: () => Promise<T>) => send() : unlessAsked;
  return {
    ...read.listing,
    stepBack: rememberOlder,
    refreshTools: () => refresh.now(),
    ...describeServer(client),
    instructions: instructionsOf(client, context),
    isStateless: isStateless(client, config),
    ...sent,
    callTool: (call) => orOldQuestion(() => sent.callTool(call)),
    request: (request) => orOldQuestion(() => sent.request(request)),
    watchResources: (uris) => changes.watchResources(uris),
    async rootsChanged() {
      if (!isModern(client)) await client.sendRootsListChanged();
    },
    redact: show,
    stderr: () => link.stderr(),
    close,
    async closeWhenIdle(signal) {
      finish();
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => aborted.resolve(), { once: true });
      if (!signal.aborted) await Promise.race([Promise.allSettled(inFlight), aborted.promise]);
      await close();
    },
  };
}

/**
 * True when nothing at the server belongs to this one connection, so that several brokers may have
 * one each: Streamable HTTP of 2026-07-28, or an earlier one whose server gave out no session id.
 * A process, an event stream and a session id make a server stateful. `stateful` in the
 * configuration overrules what was negotiated over Streamable HTTP.
 */
function isStateless(client: Client, { scope, stateful }: ServerConfig): boolean {
  const { transport } = client;
  if (scope !== "shared" || !(transport instanceof StreamableHTTPClientTransport)) return false;
  return stateful === null ? isModern(client) || transport.sessionId === undefined : !stateful;
}

function describeServer(
  client: Client,
): Pick<McpSession, "serverVersion" | "protocolVersion" | "capabilities"> {
  const { name, version = "" } = client.getServerVersion() ?? {};
  return {
    serverVersion: name === undefined ? null : `${name} ${version}`.trim(),
    protocolVersion: client.getNegotiatedProtocolVersion() ?? null,
    capabilities: client.getServerCapabilities() ?? {},
  };
}

function instructionsOf(
  client: Client,
  { events, show }: { events: SessionEvents; show: (text: string) => string },
): string | null {
  const { instructions, problem } = shownInstructions(client.getInstructions());
  if (problem !== undefined)
    events.onTrouble(`the server's instructions are not passed on: ${show(problem)}`);
  return instructions;
}

function requests(
  client: Client,
  lane: RequestLane | null,
  { during }: { readonly during: <T>(call: () => Promise<T>) => Promise<T> },
): Pick<McpSession, "callTool" | "request" | "wantLogs"> {
  let level: LogLevel | null = null;
  // A server that traces continues the trace: https://modelcontextprotocol.io/community/seps/414
  const metaOf = (
    traceparent?: string,
    given: Readonly<Record<string, unknown>> = {},
  ): { _meta?: Record<string, unknown> } => {
    const meta = {
      ...given,
      ...(level !== null && { [LOG_LEVEL_META_KEY]: level }),
      ...(traceparent !== undefined && { traceparent }),
    };
    return Object.keys(meta).length === 0 ? {} : { _meta: meta };
  };
  const send = async (
    params: { readonly name: string; readonly arguments: Record<string, unknown> },
    definition: ToolCall["definition"],
    limits: RequestLimits,
  ): Promise<JsonRecord> => {
    const options = requestOptions(limits);
    // Only the SDK's own method puts arguments into headers, which only 2026-07-28 supports.
    if (isModern(client))
      return during(() => client.callTool(params, { ...options, ...definitionOption(definition) }));
    const method = "tools/call";
    if (lane === null) return during(() => client.request({ method, params }, anyResult, options));
    const result = await lane.request({ method, params, ...limits });
    return isRecord(result) ? result : {}; // the transport passes objects alone
  };
  return {
    wantLogs(wanted) {
      if (!isModern(client)) return false;
      level = wanted;
      return true;
    },
    callTool: ({ tool, args, meta, definition, ...options }) =>
      inSpan(callSpan(tool), async ({ traceparent }) => {
        const params = { name: tool, arguments: { ...args }, ...metaOf(traceparent, meta) };
        const result = uncarriedResult(await send(params, definition, options));
        return result as unknown as ToolResult; // the transport brought it into this form
      }),
    request: ({ method, params = {}, ...options }) =>
      during(async () => {
        const request = { method, params: { ...params, ...metaOf() } };
        return uncarriedResult(await client.request(request, anyResult, requestOptions(options)));
      }),
  };
}

/** Named after https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/ */
function callSpan(tool: string): SpanFacts {
  const method = "tools/call";
  const attributes = { "mcp.method.name": method, "gen_ai.tool.name": tool };
  return { name: `${method} ${tool}`, kind: "client", attributes };
}

function definitionOption(definition: ToolCall["definition"]): object {
  if (definition === undefined) return {};
  // The list reader looked at the name and the schemas, and the protocol layer reads nothing else.
  return { toolDefinition: definition as unknown as Tool };
}

function requestOptions(
  call: Pick<SessionRequest, "timeoutMs" | "signal" | "onProgress">,
): RequestOptions {
  const { timeoutMs, signal, onProgress } = call;
  return {
    timeout: timeoutMs,
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onprogress: onProgress }),
  };
}
