import type { ConnectionAccess } from "../connection/server-connection.ts";
import type { LeaseTimes } from "./lease-times.ts";
import { ServerLease } from "./server-lease.ts";
import type { ServerState } from "./server-state.ts";

/** The leases of all servers, as far as this broker has seen them. */
export class KnownLeases {
  /** Names this broker in its leases. A restarted broker is another owner: it has none of the connections. */
  readonly self: string;
  readonly times: LeaseTimes;
  /** The check that connections make before they send to their server. */
  readonly access: ConnectionAccess;
  readonly #leases = new Map<string, ServerLease>();

  constructor(options: { name: string; self: string; times: LeaseTimes }) {
    this.self = options.self;
    this.times = options.times;
    this.access = {
      name: options.name,
      owns: (server) => this.owns(server),
      mayConnect: (server) => this.owns(server) || (this.stateOf(server)?.isStateless ?? false),
    };
  }

  get all(): readonly ServerLease[] {
    return [...this.#leases.values()];
  }

  /** The leases of this broker. */
  get own(): readonly ServerLease[] {
    return this.all.filter(({ own }) => own !== null);
  }

  /** Servers of which a lease of another broker was seen. */
  get elsewhere(): readonly string[] {
    return this.all.filter(({ stamp }) => stamp !== null).map(({ server }) => server);
  }

  of(server: string): ServerLease {
    const known = this.#leases.get(server);
    if (known !== undefined) return known;
    const lease = new ServerLease(server, this);
    this.#leases.set(server, lease);
    return lease;
  }

  /** Keeps the leases of the named servers, and those that a broker has. */
  retain(servers: ReadonlySet<string>): void {
    for (const { server, own, stamp } of this.all)
      if (!servers.has(server) && own === null && stamp === null) this.#leases.delete(server);
  }

  /** True while this broker's lease is valid, at this very moment. */
  owns(server: string): boolean {
    return this.#leases.get(server)?.isOwned ?? false;
  }

  /** True when it owns the server and is not handing it over. */
  keeps(server: string): boolean {
    return this.owns(server) && !this.of(server).own?.isLeaving;
  }

  /** The state of a server as another broker published it; null when this one owns it, or no broker does. */
  stateOf(server: string): ServerState | null {
    return this.#leases.get(server)?.stateElsewhere ?? null;
  }

  /** The other broker that has the lease. */
  ownerOf(server: string): string | null {
    return this.#leases.get(server)?.ownerElsewhere ?? null;
  }

  /** Returns the time after which the lease of another broker ends unless it is renewed. */
  leftMs(server: string): number {
    return this.#leases.get(server)?.leftMs ?? 0;
  }
}
