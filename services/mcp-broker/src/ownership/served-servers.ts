import type { Log } from "@switchyard/service/log";
import type { ConnectionChange, ServerConnection } from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { ServerEndpoints } from "./server-endpoints.ts";
import { serverStateText } from "./server-state.ts";

export interface ServedServersOptions {
  readonly pool: ServerPool;
  readonly leases: KnownLeases;
  /** The endpoints of every broker with a connection. */
  readonly endpoints: ServerEndpoints;
  /** The endpoints of the owner alone. */
  readonly ownerEndpoints: ServerEndpoints;
  readonly log: Log;
  /** Reports what happened to a connection. */
  readonly report: (change: ConnectionChange, connection: ServerConnection) => void;
}

/**
 * Brings connections and subjects in line with this broker's leases: an owned server is served and connected, a lost one is left
 * at once, one that is handed over is left when its calls have ended. A stateless server is connected and served by every broker;
 * its owner only publishes its state.
 */
export class ServedServers {
  readonly #options: ServedServersOptions;
  /** Servers whose connection this broker reported. */
  readonly #reported = new Set<string>();
  #isStopping = false;

  constructor(options: ServedServersOptions) {
    this.#options = options;
  }

  /** All servers that this broker has a declaration of. */
  get ids(): readonly string[] {
    return this.#options.pool.members.map(({ connection }) => connection.entry.id);
  }

  /** The state of a server for the other brokers, as text. */
  async textOf(server: string): Promise<string> {
    const member = this.#options.pool.find(server);
    return member === null ? "null" : serverStateText(member.connection);
  }

  /** True when a change of owner would disturb no call. */
  isIdle(server: string): boolean {
    const { pool } = this.#options;
    const member = pool.find(server);
    const status = member?.connection.info.status;
    if (pool.instances.count(server) > 0) return false; // their runs would lose them
    return member?.queue.inFlight === 0 && member.queue.queued === 0 && status !== "connecting";
  }

  /** This broker owns the server now. */
  gained(server: string): void {
    const { pool, endpoints, ownerEndpoints, leases, log } = this.#options;
    const member = pool.find(server);
    if (member === null) return;
    const { heldBecause } = leases.of(server);
    const { entry, info, heldBecause: heldHere } = member.connection;
    if (heldBecause !== null && heldHere === null && info.status !== "connected")
      pool.put(entry, { reason: heldBecause, heldBecause });
    endpoints.serve(server);
    ownerEndpoints.serve(server);
    log.debug({ server }, "mcp server owned");
    if (entry.config?.autoConnect) void pool.find(server)?.connection.start();
  }

  /** The lease is no longer valid: this broker must not send to the server any more. */
  lost(server: string): void {
    const { pool, endpoints, ownerEndpoints, log } = this.#options;
    log.warn({ server }, "mcp server's lease lost");
    void ownerEndpoints.leave(server);
    const member = pool.find(server);
    if (member?.connection.isStateless) return; // it is served by all
    void endpoints.leave(server);
    if (member !== null)
      void this.#replace(member.connection, "this broker lost the server's lease");
  }

  /** Ends calls and connection, before the lease is given up. */
  async handOver(server: string): Promise<void> {
    const { pool, endpoints, ownerEndpoints } = this.#options;
    const member = pool.find(server);
    await ownerEndpoints.leave(server);
    if (member?.connection.isStateless && !this.#isStopping) return;
    await endpoints.leave(server);
    if (member === null) return;
    if (this.#isStopping) await member.connection.stop();
    else await this.#replace(member.connection, "the server moves to another broker");
  }

  /** Another broker has published a new state of the server. */
  saidElsewhere(server: string): void {
    if (this.#isStopping || this.#options.leases.stateOf(server)?.isStateless !== true) return;
    void this.#options.pool.find(server)?.connection.start();
  }

  /** A connection changed. */
  connectionChanged(change: ConnectionChange, connection: ServerConnection): void {
    const { leases, report } = this.#options;
    const { id } = connection.entry;
    if (leases.owns(id)) {
      if (change.kind === "connected") this.#reported.add(id);
      return report(change, connection);
    }
    this.#follow(change, connection);
    // The end of a connection that was reported is reported, too, whichever broker owns the server at that time.
    const isEnd = change.kind === "closed" || change.kind === "lost";
    if (isEnd && this.#reported.delete(id)) report(change, connection);
  }

  /** An owned server was declared anew. */
  declared(server: string): void {
    this.#options.endpoints.serve(server);
    this.#options.ownerEndpoints.serve(server);
  }

  /** The server was removed. */
  removed(server: string): void {
    void this.#options.endpoints.leave(server);
    void this.#options.ownerEndpoints.leave(server);
  }

  /** From now on servers are left for good. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Ends the connection and replaces it with one that waits for this broker to own the server. */
  #replace({ entry, heldBecause }: ServerConnection, reason: string): Promise<void> {
    return this.#options.pool.put(entry, { reason, heldBecause }).predecessorEnded;
  }

  /** Requests that this broker accepted end first: they may be under way in the session before, which was stateless. */
  async #leaveToOwner(connection: ServerConnection): Promise<void> {
    const { endpoints, leases, pool } = this.#options;
    const { id } = connection.entry;
    await endpoints.leave(id);
    if (leases.owns(id) || pool.find(id)?.connection !== connection) return;
    await this.#replace(connection, "the server is bound to its owner's connection");
  }

  /** A connection of a server that this broker does not own. */
  #follow(change: ConnectionChange, connection: ServerConnection): void {
    const { endpoints } = this.#options;
    const { id } = connection.entry;
    if (change.kind === "connected" && connection.isStateless) endpoints.serve(id);
    else if (change.kind === "connected") void this.#leaveToOwner(connection);
    else if (
      change.kind !== "connecting" &&
      change.kind !== "tools_changed" &&
      !connection.isStateless
    )
      void endpoints.leave(id);
  }
}
