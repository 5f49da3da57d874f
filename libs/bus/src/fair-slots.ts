import { isService } from "@switchyard/contracts/user-names";

/** The work in progress of a caller. */
interface Usage {
  calls: number;
  bytes: number;
}

interface Limits {
  /** Calls in progress at a time. */
  readonly calls: number;
  /** Bytes of all requests in progress together. */
  readonly bytes: number;
}

/** Callers are users of NATS, which are few, but on a server without permissions any text is a caller. */
const MAX_KNOWN = 1_000;
const MIB = 1024 * 1024;

/**
 * Slots for work that no caller may use up alone: a caller gets a slot as long as it holds fewer than are free. So one caller takes half of
 * them, two a third each, and there is always one for the next caller. Services get any free slot.
 */
export class FairSlots {
  readonly #limits: Limits;
  readonly #all: Usage = { calls: 0, bytes: 0 };
  readonly #callers = new Map<string, Usage>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Takes a slot and returns null, or returns which limit refuses it. */
  take(caller: string, bytes: number): string | null {
    const refusal = this.#refusal(caller, bytes);
    if (refusal !== null) return refusal;
    const usage = this.#usageOf(caller);
    usage.calls += 1;
    usage.bytes += bytes;
    this.#all.calls += 1;
    this.#all.bytes += bytes;
    return null;
  }

  /** Releases a slot and its bytes. */
  leave(caller: string, bytes: number): void {
    const usage = this.#usageOf(caller);
    usage.calls -= 1;
    usage.bytes -= bytes;
    this.#all.calls -= 1;
    this.#all.bytes -= bytes;
  }

  #refusal(caller: string, bytes: number): string | null {
    const { calls: maxCalls, bytes: maxBytes } = this.#limits;
    const { calls, bytes: allBytes } = this.#all;
    if (calls >= maxCalls) return `is at its limit of ${maxCalls} calls at a time`;
    // A single request is accepted whatever its size.
    if (allBytes + bytes > maxBytes && calls > 0)
      return `is at its limit of ${mib(maxBytes)} of requests in work at a time`;
    // Services act for many callers, and divide their slots among those themselves.
    if (isService(caller)) return null;
    const own = this.#callers.get(caller);
    if (own === undefined) return null;
    if (own.calls >= maxCalls - calls)
      return `has ${own.calls} calls of ${caller} in work, its share of ${maxCalls} at a time`;
    if (own.bytes > 0 && own.bytes + bytes > maxBytes - allBytes)
      return `has ${mib(own.bytes)} of requests of ${caller} in work, its share of ${mib(maxBytes)} at a time`;
    return null;
  }

  #usageOf(caller: string): Usage {
    const known = this.#callers.get(caller);
    if (known !== undefined) return known;
    if (this.#callers.size >= MAX_KNOWN) this.#forgetIdle();
    const usage = { calls: 0, bytes: 0 };
    this.#callers.set(caller, usage);
    return usage;
  }

  #forgetIdle(): void {
    for (const [caller, { calls }] of this.#callers) if (calls === 0) this.#callers.delete(caller);
  }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
