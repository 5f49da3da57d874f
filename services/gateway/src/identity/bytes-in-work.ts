import { Problem } from "../problems/problem.ts";

/** The owner of a request's bytes: its caller, or the address it comes from while it is not authenticated. */
export type BytesOwner =
  | { readonly caller: string }
  | {
      readonly address: string;
    };

/** The bytes that one request holds. */
export interface HeldBytes {
  /** Counts bytes that have arrived. Throws a Problem (429 or 503) when the owner, or all owners of its kind, hold too many. */
  hold(owner: BytesOwner, bytes: number): void;
  /** Counts bytes that are passed on through an object store, where they stay for a while. Throws a Problem (429 or 503). */
  store(caller: string, bytes: number): void;
  /** Called when the request has been answered, or its answer is a stream: its body is no longer needed. */
  release(): void;
}

interface Budget {
  /** The limit of all owners of the kind together. */
  readonly all: number;
  readonly each: number;
}

const MIB = 1024 * 1024;

/**
 * The memory that bodies may use in one gateway, which has 512 MiB in the deployments that we ship. A body needs about four
 * times its size until its request has been passed on.
 */
export const BODY_BUDGETS = {
  strangers: { all: 16 * MIB, each: 4 * MIB },
  callers: { all: 64 * MIB, each: 16 * MIB },
  /** Payloads of requests leave the object store after two minutes; it accepts 1 GiB of all services together. */
  stored: { all: 512 * MIB, each: 128 * MIB },
} as const satisfies Record<string, Budget>;
export const STORED_FOR_MS = 120_000;

/** Counts the bytes that requests hold, on this replica. */
export class BytesInWork {
  readonly #strangers = new Shares(BODY_BUDGETS.strangers);
  readonly #callers = new Shares(BODY_BUDGETS.callers);
  readonly #stored = new Shares(BODY_BUDGETS.stored);

  begin(): HeldBytes {
    const held: { shares: Shares; name: string; bytes: number }[] = [];
    return {
      hold: (owner, bytes) => {
        const isCaller = "caller" in owner;
        const shares = isCaller ? this.#callers : this.#strangers;
        const name = isCaller ? owner.caller : owner.address;
        shares.take(name, bytes);
        held.push({ shares, name, bytes });
      },
      store: (caller, bytes) => {
        this.#stored.take(caller, bytes);
        setTimeout(() => this.#stored.giveBack(caller, bytes), STORED_FOR_MS).unref();
      },
      release: () => {
        for (const { shares, name, bytes } of held.splice(0)) shares.giveBack(name, bytes);
      },
    };
  }
}

class Shares {
  readonly #budget: Budget;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  take(name: string, bytes: number): void {
    const { all, each } = this.#budget;
    const own = (this.#taken.get(name) ?? 0) + bytes;
    if (own > each)
      throw tooManyBytes(429, `more than ${each} bytes of bodies of ${name} are in work`);
    if (this.#all + bytes > all)
      throw tooManyBytes(503, `more than ${all} bytes of bodies are in work`);
    this.#taken.set(name, own);
    this.#all += bytes;
  }

  giveBack(name: string, bytes: number): void {
    this.#all -= bytes;
    const left = (this.#taken.get(name) ?? 0) - bytes;
    if (left > 0) this.#taken.set(name, left);
    else this.#taken.delete(name);
  }
}

/** The rest of the body is not read, so the connection cannot be used again. */
function tooManyBytes(status: 429 | 503, why: string): Problem {
  const headers = { "retry-after": "2", connection: "close" };
  return new Problem({ status, code: "too_many_bytes", detail: `${why} at this gateway`, headers });
}
