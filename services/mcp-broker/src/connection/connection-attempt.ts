import {
  Client,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { SandboxError } from "@switchyard/service/process/sandbox";
import type { UpstreamLogin } from "../auth/connection-auth.ts";
import { inspectAlone } from "../catalogue/inspect-tools.ts";
import { createToolReader, type InspectListing } from "../catalogue/tool-reader.ts";
import { createToolRefresh, type ToolRefresh } from "../catalogue/tool-refresh.ts";
import type { ResolvedServer, SecretLookup } from "../declaration/env-references.ts";
import { errorText } from "../limits/call-failure.ts";
import { type Program, SpawnError } from "../process/child-program.ts";
import type { ChildRecords } from "../process/child-records.ts";
import type { IsolateServer } from "../process/isolate-server.ts";
import { anyResult, uncarriedResult } from "./carried-result.ts";
import { createChangeSubscription } from "./change-subscription.ts";
import { firstApproach, isModern, nextApproach, type Approach } from "./connect-approach.ts";
import type { OpenedConnection, SessionEvents } from "./mcp-session.ts";
import { withoutUnsendable } from "./parameter-headers.ts";
import {
  noHooks,
  type SessionHooksOf,
  type ServerRequestMethod,
  type SessionHooks,
} from "./session-hooks.ts";
import { createTransport, type SessionTransport, AddressError } from "./session-transport.ts";
import { verdictContext, type EraVerdict, type VerdictStore } from "./verdict-store.ts";

/** The environment of the child processes. */
export interface ChildSurroundings {
  /** The values of `${VAR}` references. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The values of `${secret:NAME}` references; without it there are none. */
  readonly secrets?: SecretLookup;
  readonly records: ChildRecords;
  readonly isolate: IsolateServer;
}

export interface AttemptParts {
  readonly children: ChildSurroundings;
  readonly version: string;
  readonly guard: EgressGuard;
  readonly verdicts: VerdictStore;
  /** Null for a server that is not to be logged in to. */
  readonly loginOf?: (
    config: ServerConfig,
    resolved: ResolvedServer,
  ) => Promise<UpstreamLogin | null>;
  /** Inspects the tools of every list; without it nothing is pinned. */
  readonly inspect?: InspectListing;
  /** The handlers that connections offer their servers beside calls; none by default. */
  readonly hooks?: SessionHooksOf;
}

const MAX_PROBE_MS = 10_000;

interface AttemptOptions {
  readonly config: ServerConfig;
  readonly resolved: ResolvedServer;
  readonly show: (text: string) => string;
  readonly events: SessionEvents;
  readonly options: AttemptParts;
}

/** Tries one approach after the other until a connection is open or none is left. */
export class ConnectionAttempt {
  readonly #own: AttemptOptions;
  #current: { link: SessionTransport; stop: () => void } | null = null;
  #isOver = false;
  /** The answer that the attempt is waiting for. */
  #awaited: "the handshake" | "tools/list" = "the handshake";

  constructor(own: AttemptOptions) {
    this.#own = own;
  }

  async open(): Promise<OpenedConnection> {
    const { config, resolved, options } = this.#own;
    const login = (await options.loginOf?.(config, resolved)) ?? null;
    const context = verdictContext(resolved, login?.grant ?? null);
    const verdict = await options.verdicts.find(config.id, context);
    let approach: Approach = firstApproach(config.transport, verdict, config.protocolVersion);
    let earlier: unknown;
    for (;;) {
      if (this.#isOver) throw new Error("the attempt was given up");
      const refresh = createToolRefresh((problem) => this.#report(problem));
      const client = this.#client(approach, refresh);
      try {
        const opened = await this.#try(approach, { client, refresh, login });
        await this.#remember(approach, client, context);
        return { ...opened, rememberOlder: this.#olderOf(client, context) };
      } catch (error) {
        const isShaken = client.getServerCapabilities() !== undefined;
        const next = nextApproach(
          config.transport,
          approach,
          { error, isShaken },
          config.protocolVersion,
        );
        if (next === null || this.#isOver) throw this.#afterEarlier(error, earlier);
        // A cached verdict that proved wrong is not reported; a refused handshake explains the next failure.
        earlier = approach.prior === null ? error : undefined;
        await this.#endCurrent();
        approach = next;
      }
    }
  }

  get requester(): string {
    return this.#awaited;
  }

  #afterEarlier(error: unknown, earlier: unknown): unknown {
    if (earlier === undefined) return error;
    const last = reasonOf(error, this.#current?.link ?? null);
    const first = errorText(earlier);
    return new BothFailedError(first === last ? last : `${first}; then ${last}`, { cause: error });
  }

  /** Ends everything that the attempt has begun. */
  giveUp(): { link: SessionTransport | null; closed: Promise<void> } {
    this.#isOver = true;
    const link = this.#current?.link ?? null;
    return { link, closed: this.#endCurrent() };
  }

  async #endCurrent(): Promise<void> {
    this.#current?.stop();
    await this.#current?.link.close();
  }

  #report(problem: string): void {
    this.#own.events.onTrouble(this.#own.show(problem));
  }

  #client({ mode }: Approach, refresh: ToolRefresh): Client {
    const { config, options } = this.#own;
    return createSessionClient({
      version: options.version,
      mode,
      // The rest of the time is for `initialize`, which every server has to answer.
      probeTimeoutMs:
        mode === "auto"
          ? Math.min(MAX_PROBE_MS, Math.ceil(config.connectTimeoutMs / 3))
          : config.connectTimeoutMs,
      hooks: options.hooks?.(config) ?? noHooks,
      onToolsChanged: () => refresh.request(),
    });
  }

  async #try(
    { transport, prior }: Approach,
    parts: { client: Client; refresh: ToolRefresh; login: UpstreamLogin | null },
  ): Promise<Omit<OpenedConnection, "rememberOlder">> {
    const { config, resolved, options } = this.#own;
    const program = await this.#program();
    if (this.#isOver) throw new Error("the attempt was given up");
    const { client, refresh, login } = parts;
    const onTrouble = (problem: string): void => this.#report(problem);
    const over = new AbortController();
    const transportLink = createTransport({
      server: config.id,
      resolved,
      program,
      records: options.children.records,
      onTrouble,
      http: {
        kind: transport === "sse" ? "sse" : "http",
        guard: options.guard,
        authProvider: login?.provider,
      },
    });
    const link: SessionTransport = {
      ...transportLink,
      close() {
        over.abort();
        return transportLink.close();
      },
    };
    const inspect = options.inspect ?? inspectAlone;
    const changes = createChangeSubscription(client, { onGap: () => refresh.request(), onTrouble });
    this.#current = { link, stop: () => changes.stop() };
    const timeout = config.connectTimeoutMs;
    let isClosed = false;
    this.#awaited = "the handshake";
    await client.connect(link.transport, prior === null ? { timeout } : { timeout, prior });
    // Subscribed before the list is read, so that no change falls between the two.
    await changes.start();
    const readTools = createToolReader({
      capabilities: client.getServerCapabilities() ?? {},
      requestPage: async (params, timeoutMs) => {
        const request = { method: "tools/list", params } as const;
        return uncarriedResult(await client.request(request, anyResult, { timeout: timeoutMs }));
      },
      config,
      inspect: (own, listing) =>
        inspect(
          own,
          // Parameters go in headers too there.
          transport === "http" && isModern(client) ? withoutUnsendable(listing) : listing,
          over.signal,
        ),
    });
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is not an EventTarget
    client.onclose = () => {
      isClosed = true;
    };
    this.#awaited = "tools/list";
    const read = await readTools();
    // A cached discovery does not prove that the server is alive, and without tools no request was sent yet.
    if (prior?.kind === "modern" && client.getServerCapabilities()?.tools === undefined)
      await client.discover({ timeout });
    return { client, link, changes, refresh, read, readTools, isClosed: () => isClosed };
  }

  /** The process to start; null where there is none to start. */
  async #program(): Promise<Program | null> {
    const { config, resolved, options } = this.#own;
    const { launch } = resolved;
    return launch.transport === "stdio" ? options.children.isolate({ ...config, ...launch }) : null;
  }

  /** Makes the next connection speak an earlier revision; null where this one does, or the entry names the revision. */
  #olderOf(client: Client, context: string): OpenedConnection["rememberOlder"] {
    const { config, options } = this.#own;
    if (!isModern(client) || config.transport !== "http" || config.protocolVersion !== null)
      return null;
    const verdict = { era: "legacy", transport: "http", becauseOfQuestions: true } as const;
    return () => options.verdicts.save(config.id, context, verdict);
  }

  /** Stored only where the next connection would otherwise have to probe. */
  async #remember({ transport, prior }: Approach, client: Client, context: string): Promise<void> {
    const { config, options } = this.#own;
    if (prior !== null) return;
    const discover = client.getDiscoverResult();
    const verdict: EraVerdict | null =
      isModern(client) && discover !== undefined
        ? { era: "modern", discover }
        : config.transport === "http"
          ? { era: "legacy", transport }
          : null;
    if (verdict !== null) await options.verdicts.save(config.id, context, verdict);
  }
}

interface SessionClientOptions {
  readonly version: string;
  readonly mode: VersionNegotiationMode;
  /** The time for which the request for the newest protocol waits for its reply. */
  readonly probeTimeoutMs: number;
  readonly hooks: SessionHooks;
  readonly onToolsChanged: () => void;
}

const TOOLS_CHANGED = "notifications/tools/list_changed";

/** The protocol layer of one connection, with what the session offers its server. */
function createSessionClient(options: SessionClientOptions): Client {
  const { version, mode, probeTimeoutMs, hooks, onToolsChanged } = options;
  const client = new Client(
    { name: "switchyard", version },
    {
      versionNegotiation: { mode, probe: { timeoutMs: probeTimeoutMs } },
      capabilities: hooks.capabilities,
      jsonSchemaValidator: unchecked,
    },
  );
  // The keys of the record are the methods; `Object.keys` forgets that.
  for (const method of Object.keys(hooks.requests) as ServerRequestMethod[])
    answerRequests(client, method, hooks);
  // Not the SDK's `listChanged`: on 2026-07-28 it subscribes once and never again when that ends.
  client.setNotificationHandler(TOOLS_CHANGED, () => {
    onToolsChanged();
    hooks.onNotification(TOOLS_CHANGED, {});
  });
  client.fallbackNotificationHandler = ({ method, params = {} }) => {
    hooks.onNotification(method, params);
    return Promise.resolve();
  };
  return client;
}

function answerRequests(client: Client, method: ServerRequestMethod, hooks: SessionHooks): void {
  const answer = hooks.requests[method];
  if (answer === undefined) return;
  client.setRequestHandler(method, async ({ params = {} }, { mcpReq }) => {
    const result = await answer({ method, params: { ...params }, signal: mcpReq.signal });
    // The protocol layer checks the answer against the schema of the method.
    return result as never;
  });
}

/**
 * An output schema is the server's own claim about its own result, and compiling a hostile one can
 * stop the event loop; the result is passed on as it came.
 */
const unchecked: jsonSchemaValidator = {
  getValidator<T>(_schema: JsonSchemaType): JsonSchemaValidator<T> {
    // The SDK reads `data` only to return it, so its type is as reliable as the server.
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/** True when a retry cannot help before a person changes something. */
export function isPermanent(error: unknown): boolean {
  const permanent = [SpawnError, AddressError, SandboxError];
  if (permanent.some((kind) => error instanceof kind)) return true;
  if (!(error instanceof Error)) return false;
  return error.name === "LoginNeededError" || isPermanent(error.cause);
}

/** Two ways were tried, and its message states why each of them failed. */
class BothFailedError extends Error {
  override readonly name = "BothFailedError";
}

/** The time for a connection is used up. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";
}

/** Returns the reason why a connection could not be made, in words; `link` is the last that was tried. */
export function reasonOf(error: unknown, link: SessionTransport | null): string {
  if (error instanceof BothFailedError) return error.message;
  const end = link?.describeEnd() ?? null;
  if (end !== null) return end;
  // The output of the process may explain why no answer came.
  return error instanceof SilenceError && link !== null
    ? link.explain(error.message)
    : errorText(error);
}
