import { elapsedMs, instant, type Instant, type LeaseTimes } from "./lease-times.ts";
import type { ServerState } from "./server-state.ts";

/** A lease of this broker. */
export interface OwnLease {
  readonly kind: "own";
  readonly epoch: number;
  /** The time at which the renewal was sent that Redis confirmed last. */
  confirmed: Instant;
  /** The version of the state that the other brokers read about the server. */
  version: number;
  /** The published state is out of date. */
  isStale: boolean;
  /** It is being handed over: no reason to hand over another one. */
  isLeaving: boolean;
}

/** A lease of another broker, or one that this broker has lost track of. */
interface LeaseElsewhere {
  readonly kind: "elsewhere";
  readonly owner: string;
  readonly stamp: string;
  readonly seenAt: Instant;
  readonly leftMs: number;
  /** The state of the server that its owner published. */
  readonly says: ServerState | null;
}

type LeaseState =
  | { readonly kind: "unknown" }
  | { readonly kind: "free"; readonly since: Instant }
  | LeaseElsewhere
  | OwnLease;

const UNKNOWN: LeaseState = { kind: "unknown" };

/**
 * This broker's view of the lease of one server. `lease-keeper.ts` makes the requests to Redis.
 *
 *     unknown ── found ──▶ free | elsewhere ── take ──▶ own ── end ──▶ unknown
 *
 * An own lease is trusted for two thirds of its length after the last confirmed renewal was sent, by this broker's clock, which
 * is read at every use. So the next owner begins after it has ended here, however slow Redis or this process is. The state that
 * another owner published counts no longer than its lease.
 */
export class ServerLease {
  readonly server: string;
  readonly #self: string;
  readonly #times: LeaseTimes;
  #state: LeaseState = UNKNOWN;
  #heldBecause: string | null = null;

  constructor(server: string, { self, times }: { self: string; times: LeaseTimes }) {
    this.server = server;
    this.#self = self;
    this.#times = times;
  }

  /** The lease of this broker, also one that is no longer valid and was not left yet. */
  get own(): OwnLease | null {
    return this.#state.kind === "own" ? this.#state : null;
  }

  /** True while this broker's lease is valid, at this very moment. */
  get isOwned(): boolean {
    const { own } = this;
    return own !== null && elapsedMs(own.confirmed, instant()) < this.#times.trustMs;
  }

  /** The time since when it is free; null when a broker has it, or that is unknown. */
  get freeSince(): Instant | null {
    return this.#state.kind === "free" ? this.#state.since : null;
  }

  /** The other broker that has the lease. */
  get ownerElsewhere(): string | null {
    if (this.#state.kind !== "elsewhere" || this.#state.owner === this.#self) return null;
    return this.leftMs > 0 ? this.#state.owner : null;
  }

  /** The time after which the lease of another broker ends unless it is renewed. */
  get leftMs(): number {
    if (this.#state.kind !== "elsewhere") return 0;
    return Math.max(0, this.#state.leftMs - elapsedMs(this.#state.seenAt, instant()));
  }

  /** Changes when the other owner or its published state changes; null without one. */
  get stamp(): string | null {
    return this.#state.kind === "elsewhere" ? this.#state.stamp : null;
  }

  /** The state that the other owner published; null when there is no other owner, or it has published none. */
  get stateElsewhere(): ServerState | null {
    if (this.#state.kind !== "elsewhere" || this.ownerElsewhere === null) return null;
    return this.#state.says;
  }

  /** The reason why the last owner kept the server unconnected; null when it did not. */
  get heldBecause(): string | null {
    return this.#heldBecause;
  }

  /** Redis granted this broker the lease, for a request that was sent at `sentAt`. */
  take(epoch: number, sentAt: Instant): OwnLease {
    const own: OwnLease = {
      kind: "own",
      epoch,
      confirmed: sentAt,
      version: 0,
      isStale: true,
      isLeaving: false,
    };
    this.#state = own;
    return own;
  }

  /** The owner has to be read again: the lease was released, lost, or claimed by a faster broker. */
  end(): void {
    this.#state = UNKNOWN;
  }

  /** The lease is free. */
  foundFree(at: Instant): void {
    if (this.#state.kind !== "own") this.#state = { kind: "free", since: this.freeSince ?? at };
  }

  /** Another broker has it. An own lease ends by its clock and by the answer to a renewal only. */
  foundElsewhere(found: Omit<LeaseElsewhere, "kind">): void {
    if (this.#state.kind === "own") return;
    this.#state = { kind: "elsewhere", ...found };
    if (found.says !== null) this.#heldBecause = found.says.heldBecause;
  }

  /** The lease that was found before is still there. */
  foundAgain(leftMs: number, seenAt: Instant): void {
    if (this.#state.kind === "elsewhere") this.#state = { ...this.#state, leftMs, seenAt };
  }
}
