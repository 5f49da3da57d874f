import { isDeepStrictEqual } from "node:util";
import type { ServerInfo, ServerStatus } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ConnectError, type McpSession, type OpenSession } from "./mcp-session.ts";
import { createCircuitBreaker, type CircuitBreaker } from "../limits/circuit-breaker.ts";
import type { InspectedListing } from "../catalogue/inspect-tools.ts";
import { nextReconnect } from "./reconnect-policy.ts";
import { takeLiveFields } from "../declaration/live-fields.ts";
import { enabledTools } from "../declaration/enabled-tools.ts";
import type { ServerConfig, ServerEntry } from "@switchyard/project/mcp-servers/server-config";
import {
  buildCatalogue,
  isSameCatalogue,
  emptyCatalogue,
  type PinView,
  type ToolCatalogue,
} from "../catalogue/tool-catalogue.ts";

/** A change of a connection, for events, logs and metrics. */
export type ConnectionChange =
  | { readonly kind: "connecting"; readonly isRetry: boolean }
  | { readonly kind: "connected" | "tools_changed" }
  | { readonly kind: "lost"; readonly reason: string }
  /** Ended by the broker, on request. */
  | { readonly kind: "closed"; readonly reason: string }
  /** `isNew` is false for the slow probes that fail after the server is in `error` already. */
  | { readonly kind: "failed"; readonly reason: string; readonly isNew: boolean }
  | { readonly kind: "trouble"; readonly reason: string };

/** Decides which broker may speak to a server: a server whose sessions bind it to one connection has one owner. */
export interface ConnectionAccess {
  /** Name of this broker. */
  readonly name: string;
  owns(server: string): boolean;
  /** True for the owner, and for every broker where the server is known to be stateless. */
  mayConnect(server: string): boolean;
}

/** The connection that this one replaces. */
export interface Predecessor {
  /** Two processes of one server may interfere with each other. */
  readonly ended: Promise<void>;
  /** The end of its process's stderr; shown until there is a new process. */
  readonly stderr: string;
}

export interface Clock {
  now(): number;
  /** In [0, 1). */
  random(): number;
  /** Calls back after the delay unless the returned function is called first. */
  schedule(delayMs: number, callback: () => void): () => void;
}

export interface ServerConnectionOptions {
  readonly entry: ServerEntry;
  /** Checked at every use. Without it this broker is the only one. */
  readonly access?: ConnectionAccess;
  /** The reason why the server is not to be connected; null when it may be. */
  readonly heldBecause?: string | null;
  readonly predecessor?: Predecessor;
  readonly open: OpenSession;
  /** The approved definitions of its tools. */
  readonly pinState: PinView;
  readonly clock: Clock;
  readonly onChange: (change: ConnectionChange, connection: ServerConnection) => void;
}

const OLD_QUESTIONS =
  "its tools ask questions in the way of revisions before 2026-07-28: connecting with one of these";

/**
 * Keeps one server connected. Its status and its tools are true at every moment: a lost connection
 * takes the tools out of the catalogue before anything else happens.
 */
export class ServerConnection {
  #entry: ServerEntry;
  /** Blocks calls while the connection to the server fails repeatedly. */
  readonly circuit: CircuitBreaker = createCircuitBreaker(() => performance.now());
  readonly #options: ServerConnectionOptions;
  readonly #stopping = new AbortController();
  readonly #closing = new Set<Promise<void>>();
  #status: ServerStatus;
  #lastError: string | null;
  #session: McpSession | null = null;
  #catalogue: ToolCatalogue = emptyCatalogue;
  #listing: InspectedListing = { tools: [], problems: [] };
  #connectedAt: Date | null = null;
  #stderr: string;
  #stoppedBecause: string | null = null;
  #reconnectsTried = 0;
  #firstAttempt: Promise<void> | null = null;
  #attempt: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => undefined;
  /** False from a renewal of the session until a request succeeds. */
  #mayRenew = true;
  /** The session that was left for an earlier revision, until one speaks that: a server that refuses those is tried once. */
  #steppedBackFrom: McpSession | null = null;
  /** The renewal under way. */
  #renewal: Promise<void> | null = null;

  constructor(options: ServerConnectionOptions) {
    this.#options = options;
    this.#entry = options.entry;
    this.#stderr = options.predecessor?.stderr ?? "";
    const { config, problem } = options.entry;
    this.#status =
      problem !== null ? "error" : config?.enabled === false ? "disabled" : "disconnected";
    this.#lastError = problem ?? options.heldBecause ?? null;
  }

  get entry(): ServerEntry {
    return this.#entry;
  }

  /** The reason why it is not to be connected; null when it may be. */
  get heldBecause(): string | null {
    return this.#options.heldBecause ?? null;
  }

  /** The reason why it was stopped for good; null while it is kept connected. */
  get stoppedBecause(): string | null {
    return this.#stoppedBecause;
  }

  /** The end of the stderr of the server's process, or of the last process when there is none now. */
  get stderr(): string {
    return this.#session?.stderr() ?? this.#stderr;
  }

  /**
   * The session while the server is connected and this broker may speak to it. Take it right before
   * something is sent: a broker that was stopped for a while may have lost the server meanwhile.
   */
  get session(): McpSession | null {
    return this.#mayUse ? this.#session : null;
  }

  /** Empty unless the server is connected. */
  get catalogue(): ToolCatalogue {
    return this.#mayUse ? this.#catalogue : emptyCatalogue;
  }

  /** True while it is connected and nothing at the server is bound to this connection. */
  get isStateless(): boolean {
    return this.#session?.isStateless ?? false;
  }

  get #ownerName(): string | null {
    const { access } = this.#options;
    return access?.owns(this.entry.id) === true ? access.name : null;
  }

  get #mayUse(): boolean {
    const { access } = this.#options;
    return access === undefined || this.isStateless || access.owns(this.entry.id);
  }

  /** True while it is not connected and is being connected again; in `error` no call should wait for it. */
  get isReturning(): boolean {
    const isAway = this.#status === "connecting" || this.#status === "disconnected";
    return isAway && this.heldBecause === null;
  }

  /** The facts about the server that every client may see. */
  get info(): ServerInfo {
    const { entry, session, catalogue } = this;
    const { id, name, origin, transport, config, overridesFile = false, warnings } = entry;
    // Connected, but the lease is lost: the connection ends in a moment.
    const isLeft = this.#status === "connected" && session === null;
    const instructions = session?.instructions ?? null;
    return {
      id,
      name,
      origin,
      transport,
      status: isLeft ? "disconnected" : this.#status,
      toolCount: catalogue.tools.length,
      serverVersion: session?.serverVersion ?? null,
      protocolVersion: session?.protocolVersion ?? null,
      lastError: isLeft ? "this broker does not own the server any more" : this.#lastError,
      connectedAt: isLeft ? null : (this.#connectedAt?.toISOString() ?? null),
      capabilities: session === null ? null : offered(session),
      ...(instructions === null ? {} : { instructions }),
      owner: this.#ownerName,
      circuit: this.circuit.state,
      ...(config === null ? {} : { autoConnect: config.autoConnect }),
      ...(overridesFile ? { overridesFile } : {}),
      ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
    };
  }

  /**
   * Connects for the first time and keeps the server connected from then on. Resolves when the
   * first attempt is over, whatever its end; never rejects. A second call waits for the same attempt, and while the session is
   * renewed for that.
   */
  start(): Promise<void> {
    const { config } = this.entry;
    if (config === null || !config.enabled || this.heldBecause !== null) return Promise.resolve();
    if (this.#options.access?.mayConnect(this.entry.id) === false) return Promise.resolve();
    this.#firstAttempt ??= this.#try(config);
    return this.#renewal ?? this.#firstAttempt;
  }

  /**
   * Ends the connection for good. Resolves when no process of it is left. A reason is published and returned to the callers of
   * calls in work; without one the whole broker stops.
   */
  async stop(reason: string | null = null): Promise<void> {
    this.#stoppedBecause ??= reason;
    this.#stopping.abort();
    this.#cancelTimer();
    this.#end(reason);
    await this.#attempt;
    this.#end(reason);
    await Promise.all(this.#closing);
    await this.#options.predecessor?.ended;
  }

  /** Notes that a request succeeded. */
  proved(): void {
    this.#mayRenew = true;
  }

  /**
   * Replaces a session in which the server refused a request. Resolves when the attempt is over; never rejects. A renewed session
   * in which nothing succeeded is kept: the next one would be refused alike.
   */
  async renew(session: McpSession, reason: string): Promise<void> {
    const { config } = this.#entry;
    if (config === null || this.#stopping.signal.aborted) return;
    if (this.#session === session && this.#mayRenew) {
      this.#mayRenew = false;
      const { signal } = this.#stopping;
      // Other requests under way end in their own session: one that was sent may succeed, and one that was refused as well reports that itself.
      this.#lose(config, reason, (left) => left.closeWhenIdle(signal));
    }
    await this.#reconnected(config);
  }

  /**
   * Connects with a revision before 2026-07-28 from now on, since the server's tools ask in the way of these. Other requests under way end
   * in their own session. Returns whether the next request uses such a session; never rejects.
   */
  async stepBack(session: McpSession): Promise<boolean> {
    const { config } = this.#entry;
    if (config === null || session.stepBack === null || this.#stopping.signal.aborted) return false;
    // Another request of the same session has stepped back already.
    if (this.#steppedBackFrom === session) return true;
    if (this.#session !== session) return this.#session?.stepBack === null;
    if (this.#steppedBackFrom !== null) return false;
    this.#steppedBackFrom = session;
    const { signal } = this.#stopping;
    this.#lose(config, OLD_QUESTIONS, (left) => left.closeWhenIdle(signal));
    const remembered = session.stepBack();
    // The next request waits for it, see `start`.
    void this.#reconnected(config, remembered);
    await remembered;
    return true;
  }

  /** Resolves when the attempt that follows a session that ended from here is over; the attempt begins after `before`. */
  async #reconnected(config: ServerConfig, before?: Promise<void>): Promise<void> {
    if (this.#session === null && this.#status === "disconnected") {
      this.#cancelTimer();
      const attempt = before?.then(() => this.#try(config)) ?? this.#try(config);
      const renewal = attempt.finally(() => {
        if (this.#renewal === renewal) this.#renewal = null;
      });
      this.#renewal = renewal;
    }
    await (this.#renewal ?? this.#attempt);
  }

  /** Takes over an entry that makes the same connection. The server is notified of changed roots when it has requested that. */
  async amend(entry: ServerEntry): Promise<void> {
    const { config } = this.#entry;
    if (config === null || entry.config === null) return;
    const areOther = !isDeepStrictEqual(config.roots, entry.config.roots);
    takeLiveFields(config, entry.config);
    this.#entry = { ...entry, config };
    this.repin();
    if (!areOther) return;
    try {
      await this.session?.rootsChanged();
    } catch (error) {
      this.#report({ kind: "trouble", reason: `changed roots not sent: ${String(error)}` });
    }
  }

  #end(reason: string | null): void {
    const session = this.#session;
    this.#leave("disconnected", reason ?? this.#lastError);
    if (session === null) return;
    this.#track(session.close());
    if (reason !== null) this.#report({ kind: "closed", reason });
  }

  #try(config: ServerConfig): Promise<void> {
    this.#attempt = this.#connect(config);
    return this.#attempt;
  }

  async #connect(config: ServerConfig): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    // In `error` the slow probes stay out of sight: the server is not any better before one succeeds.
    if (this.#status !== "error") this.#status = "connecting";
    this.#report({ kind: "connecting", isRetry: this.#reconnectsTried > 0 });
    await this.#options.predecessor?.ended;
    if (this.#stopping.signal.aborted) return;
    try {
      const session = await this.#options.open(
        config,
        this.#sessionEvents(config),
        this.#stopping.signal,
      );
      this.#enter(session);
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      this.#stderr = error.stderr || this.#stderr;
      this.#track(error.closed);
      this.#fail(config, error);
    }
  }

  #sessionEvents(config: ServerConfig) {
    return {
      onLost: (reason: string) => this.#lose(config, reason, (lost) => lost.close()),
      onToolsChanged: (listing: InspectedListing) => {
        if (this.#session === null) return; // the answer came after the connection was lost
        this.#listing = listing;
        this.repin();
      },
      onTrouble: (reason: string) => this.#report({ kind: "trouble", reason }),
    };
  }

  /** Re-evaluates the pins of its tools, and which of them its entry allows. */
  repin(): void {
    if (this.#session === null) return;
    const before = this.#catalogue;
    this.#catalogue = this.#buildCatalogue();
    if (!isSameCatalogue(before, this.#catalogue)) this.#report({ kind: "tools_changed" });
  }

  #buildCatalogue(): ToolCatalogue {
    const { id, config } = this.entry;
    const { tools, problems } = this.#listing;
    const listing = { tools: enabledTools(config, tools), problems };
    return buildCatalogue(id, listing, this.#options.pinState);
  }

  #enter(session: McpSession): void {
    this.#session = session;
    if (session.stepBack === null) this.#steppedBackFrom = null;
    this.#listing = session;
    this.#catalogue = this.#buildCatalogue();
    this.#status = "connected";
    this.#lastError = null;
    this.#connectedAt = new Date(this.#options.clock.now());
    this.#reconnectsTried = 0;
    this.#report({ kind: "connected" });
  }

  #lose(config: ServerConfig, reason: string, close: (session: McpSession) => Promise<void>): void {
    const session = this.#session;
    this.#leave("disconnected", reason);
    if (session !== null) this.#track(close(session));
    this.#report({ kind: "lost", reason });
    this.#retryLater(config, { permanent: false });
  }

  #fail(config: ServerConfig, error: ConnectError): void {
    const wasError = this.#status === "error";
    this.#retryLater(config, error);
    this.#lastError = error.message;
    this.#report({
      kind: "failed",
      reason: error.message,
      isNew: !wasError && this.#status === "error",
    });
  }

  #retryLater(config: ServerConfig, { permanent }: { permanent: boolean }): void {
    const { maxReconnectAttempts } = config;
    const outage = { reconnectsTried: this.#reconnectsTried, maxReconnectAttempts, permanent };
    const next = nextReconnect(outage, this.#options.clock.random());
    this.#status = next.status;
    if (this.#stopping.signal.aborted) return;
    this.#reconnectsTried += 1;
    this.#cancelTimer = this.#options.clock.schedule(next.delayMs, () => void this.#try(config));
  }

  #leave(status: ServerStatus, lastError: string | null): void {
    this.#stderr = this.stderr;
    this.#session = null;
    this.#catalogue = emptyCatalogue;
    this.#connectedAt = null;
    if (this.#status !== "error" && this.#status !== "disabled") this.#status = status;
    this.#lastError = lastError;
  }

  #track(closing: Promise<void>): void {
    // A transport that cannot close in order has cut its connection all the same.
    const settled = closing.catch(() => undefined).finally(() => this.#closing.delete(settled));
    this.#closing.add(settled);
  }

  #report(change: ConnectionChange): void {
    this.#options.onChange(change, this);
  }
}

function offered({ capabilities }: McpSession): NonNullable<ServerInfo["capabilities"]> {
  const { tools, resources, prompts } = capabilities;
  return {
    tools: tools !== undefined,
    resources: resources !== undefined,
    prompts: prompts !== undefined,
  };
}
