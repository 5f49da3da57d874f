import type { CallEndpoints } from "./server-endpoints.ts";
import type {
  ConnectionAccess,
  ConnectionChange,
  ServerConnection,
} from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { Log } from "@switchyard/service/log";
import type { ServerDirectory } from "./server-directory.ts";
import type { OwnershipOptions, ServerOwnership } from "./server-ownership.ts";
import { serverStateText } from "./server-state.ts";

/** What placement acts on; it is there before the first server is owned. */
export interface Placed {
  readonly pool: ServerPool;
  /** What every broker with a connection answers. */
  readonly endpoints: CallEndpoints;
  /** What the owner alone answers. */
  readonly ownerEndpoints: CallEndpoints;
  readonly ownership: ServerOwnership;
  readonly directory: ServerDirectory;
  /** True when no call is in work or waiting for the server. */
  readonly isIdle: (server: string) => boolean;
}

/**
 * Brings connections and subjects in line with what this broker owns: an owned server is served and
 * connected, a lost one is left at once, one that is given away is left when its calls have ended.
 * A stateless server is connected and served by every broker; its owner only speaks for it.
 */
export class ServerPlacement {
  readonly access: ConnectionAccess;
  readonly #log: Log;
  readonly #report: (change: ConnectionChange, connection: ServerConnection) => void;
  /** Servers whose connection the outside was told of, by this broker. */
  readonly #told = new Set<string>();
  #placed: Placed | null = null;
  #isStopping = false;

  constructor(options: {
    name: string;
    log: Log;
    report: (change: ConnectionChange, connection: ServerConnection) => void;
  }) {
    this.#log = options.log;
    this.#report = options.report;
    this.access = {
      name: options.name,
      owns: (server) => this.#placed?.ownership.owns(server) ?? false,
      mayConnect: (server) => this.access.owns(server) || this.#mayFollow(server),
    };
  }

  /** Has to be called once, before the ownership starts. */
  begin(placed: Placed): void {
    this.#placed = placed;
  }

  /** What the ownership calls back. */
  hooks(): Pick<
    OwnershipOptions,
    "servers" | "textOf" | "isIdle" | "onGained" | "onLost" | "onGive"
  > {
    return {
      servers: () => this.#get().pool.members.map(({ connection }) => connection.entry.id),
      textOf: (server) => {
        const member = this.#get().pool.find(server);
        return member === null ? "null" : serverStateText(member.connection);
      },
      isIdle: (server) => this.#get().isIdle(server),
      onGained: (server) => this.#gained(server),
      onLost: (server) => this.#lost(server),
      onGive: (server) => this.#give(server),
    };
  }

  /** Hears of every change of a connection. */
  changed(change: ConnectionChange, connection: ServerConnection): void {
    const { id } = connection.entry;
    if (this.access.owns(id)) {
      if (change.kind === "connected") this.#told.add(id);
      this.#get().ownership.changed(id);
      return this.#report(change, connection);
    }
    if (this.#placed === null) return;
    this.#follow(change, connection);
    // The end of a connection that was told of is told, too, whoever owns the server by then.
    const isEnd = change.kind === "closed" || change.kind === "lost";
    if (isEnd && this.#told.delete(id)) this.#report(change, connection);
  }

  /** Another broker said something new of a server. */
  seen(server: string): void {
    if (!this.#mayFollow(server) || this.#isStopping) return;
    const member = this.#get().pool.find(server);
    void member?.connection.start();
  }

  /** A server came, changed or went. */
  registryChanged(server: string): void {
    if (this.#placed === null) return;
    const { pool, endpoints, ownerEndpoints, ownership } = this.#placed;
    if (pool.find(server) === null) {
      void endpoints.leave(server);
      void ownerEndpoints.leave(server);
      ownership.forget(server);
    } else if (ownership.owns(server)) {
      endpoints.serve(server);
      ownerEndpoints.serve(server);
      ownership.changed(server);
    } else ownership.nudge();
  }

  /** From now on servers are left for good. */
  stop(): void {
    this.#isStopping = true;
  }

  #gained(server: string): void {
    const { pool, endpoints, ownerEndpoints, directory } = this.#get();
    const member = pool.find(server);
    if (member === null) return;
    const heldBecause = directory.heldBecause(server);
    const { entry, info } = member.connection;
    if (
      heldBecause !== null &&
      member.connection.heldBecause === null &&
      info.status !== "connected"
    )
      pool.put(entry, { reason: heldBecause, heldBecause });
    endpoints.serve(server);
    ownerEndpoints.serve(server);
    this.#log.debug({ server }, "mcp server owned");
    if (entry.config?.autoConnect) void pool.find(server)?.connection.start();
  }

  #lost(server: string): void {
    const { pool, endpoints, ownerEndpoints } = this.#get();
    this.#log.warn({ server }, "mcp server's lease lost");
    void ownerEndpoints.leave(server);
    const member = pool.find(server);
    if (member?.connection.isStateless) return; // it is served by all
    void endpoints.leave(server);
    if (member !== null)
      void this.#replace(member.connection, "this broker lost the server's lease");
  }

  async #give(server: string): Promise<void> {
    const { pool, endpoints, ownerEndpoints } = this.#get();
    const member = pool.find(server);
    await ownerEndpoints.leave(server);
    if (member?.connection.isStateless && !this.#isStopping) return;
    await endpoints.leave(server);
    if (member === null) return;
    if (this.#isStopping) await member.connection.stop();
    else await this.#replace(member.connection, "the server moves to another broker");
  }

  /** Ends the connection and leaves one in its place that waits for this broker to own the server. */
  #replace({ entry, heldBecause }: ServerConnection, reason: string): Promise<void> {
    return this.#get().pool.put(entry, { reason, heldBecause }).predecessorEnded;
  }

  #follow(change: ConnectionChange, connection: ServerConnection): void {
    const { endpoints } = this.#get();
    const { id } = connection.entry;
    if (change.kind === "connected" && connection.isStateless) endpoints.serve(id);
    else if (change.kind === "connected")
      void this.#replace(connection, "the server is bound to its owner's connection");
    else if (
      change.kind !== "connecting" &&
      change.kind !== "tools_changed" &&
      !connection.isStateless
    )
      void endpoints.leave(id);
  }

  #mayFollow(server: string): boolean {
    return this.#placed?.directory.stateOf(server)?.isStateless ?? false;
  }

  #get(): Placed {
    if (this.#placed === null) throw new TypeError("the placement has not begun");
    return this.#placed;
  }
}
