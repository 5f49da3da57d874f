import type { LeaseStore, SeenLease } from "./lease-store.ts";
import { elapsedMs, instant, type Instant } from "./lease-times.ts";
import { ServerState } from "./server-state.ts";

interface Known {
  readonly owner: string;
  readonly stamp: string;
  readonly seenAt: Instant;
  readonly leftMs: number;
  readonly state: ServerState | null;
}

/** What this broker knows of the servers that others own. Nothing in it outlives the owner's lease. */
export class ServerDirectory {
  readonly #store: Pick<LeaseStore, "read">;
  readonly #self: string;
  readonly #onChange: (server: string) => void;
  readonly #known = new Map<string, Known>();
  readonly #held = new Map<string, string | null>();

  constructor(options: {
    store: Pick<LeaseStore, "read">;
    self: string;
    onChange: (server: string) => void;
  }) {
    this.#store = options.store;
    this.#self = options.self;
    this.#onChange = options.onChange;
  }

  /** Every server of which a lease was seen. */
  get servers(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** What the other owner says of the server; null when there is no other owner, or it is silent. */
  stateOf(server: string): ServerState | null {
    return this.ownerOf(server) === null ? null : (this.#known.get(server)?.state ?? null);
  }

  /** The other broker that has the lease. */
  ownerOf(server: string): string | null {
    const known = this.#known.get(server);
    if (known === undefined || known.owner === this.#self) return null;
    return this.leftMs(server) > 0 ? known.owner : null;
  }

  /** How long the lease lasts when it is not renewed. */
  leftMs(server: string): number {
    const known = this.#known.get(server);
    return known === undefined ? 0 : Math.max(0, known.leftMs - elapsedMs(known.seenAt, instant()));
  }

  /** Why the last owner kept the server unconnected; null when it did not. */
  heldBecause(server: string): string | null {
    return this.#held.get(server) ?? null;
  }

  /** Takes in what a look at the leases found at `seenAt`; reads what changed. Rejects with StoreError. */
  async update(seen: ReadonlyMap<string, SeenLease | null>, seenAt: Instant): Promise<void> {
    const changed: Promise<void>[] = [];
    for (const [server, lease] of seen) {
      const before = this.#known.get(server);
      if (lease === null) this.#forget(server);
      else if (before !== undefined && before.stamp === lease.stamp)
        this.#known.set(server, { ...before, seenAt, leftMs: lease.leftMs });
      else changed.push(this.#read(server, lease, seenAt));
    }
    await Promise.all(changed);
  }

  async #read(server: string, lease: SeenLease, seenAt: Instant): Promise<void> {
    const { owner, leftMs } = lease;
    const found = owner === this.#self ? null : await this.#store.read(server);
    const parsed = found === null ? null : ServerState.safeParse(parseJson(found.text));
    const state = parsed?.success === true ? parsed.data : null;
    if (state !== null) this.#held.set(server, state.heldBecause);
    this.#known.set(server, { owner, stamp: found?.stamp ?? lease.stamp, seenAt, leftMs, state });
    this.#onChange(server);
  }

  #forget(server: string): void {
    if (this.#known.delete(server)) this.#onChange(server);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
