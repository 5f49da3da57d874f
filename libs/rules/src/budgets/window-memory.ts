import { MAX_WINDOW_CALLS, type WindowLimit } from "../schema/window-schema.ts";
import { isWithinLimit, type CompiledWindow, type WindowKind } from "./compile-window.ts";

/** One window of one owner, as a store finds it. */
export interface WindowAsked {
  /** The window's name and its owner. */
  readonly key: string;
  readonly kind: WindowKind;
  readonly withinMs: number;
  /** The part of the call in it; null when the call only reads the window. */
  readonly share: string | null;
}

/** A comparison of one window, by its position in the plan, with the call (`after`) or without it. */
export interface WindowClause {
  readonly window: number;
  readonly on: "before" | "after";
  readonly op: WindowLimit;
  readonly value: number;
}

/**
 * The part of a decision that depends on earlier calls, in a form that a store can evaluate and reserve at once: the call is denied
 * when all clauses of an entry of `denies` hold, and else passes when `passesAlone`, or when all clauses of an entry of `allows` hold.
 */
export interface WindowPlan {
  readonly windows: readonly WindowAsked[];
  readonly denies: readonly (readonly WindowClause[])[];
  readonly allows: readonly (readonly WindowClause[])[];
  readonly passesAlone: boolean;
}

/** The values of a window without the call and with it, amounts in exact parts. */
export interface WindowReading {
  readonly before: number;
  readonly after: number;
  /** The time of its oldest call, in milliseconds since the Unix epoch; null when it is empty. */
  readonly oldestMs: number | null;
}

export interface WindowAnswer {
  /** True when the call is counted in its windows from now on. */
  readonly isTaken: boolean;
  /** The position of a window that remembers no more calls; null otherwise. */
  readonly full: number | null;
  readonly readings: readonly WindowReading[];
}

interface Entry {
  readonly reservation: string;
  readonly atMs: number;
  readonly share: string;
}

/** Counts calls in memory with the semantics of the policy's store in Redis: for tests of policies. A call counts for as long as it is younger than the window. */
export class WindowMemory {
  readonly #entries = new Map<string, Entry[]>();

  /** Decides about the plan, and counts the call when it passes. */
  take(plan: WindowPlan, reservation: string, nowMs: number): WindowAnswer {
    const readings = this.read(plan, nowMs);
    if (!passes(plan, readings)) return { isTaken: false, full: null, readings };
    const full = plan.windows.findIndex(
      ({ key, share }) => share !== null && this.#of(key).length >= MAX_WINDOW_CALLS,
    );
    if (full >= 0) return { isTaken: false, full, readings };
    this.record(plan, reservation, nowMs);
    return { isTaken: true, full: null, readings };
  }

  /** Counts the call, whatever the plan decides. */
  record({ windows }: Pick<WindowPlan, "windows">, reservation: string, nowMs: number): void {
    for (const { key, share } of windows)
      if (share !== null)
        this.#entries.set(key, [...this.#of(key), { reservation, atMs: nowMs, share }]);
  }

  read({ windows }: Pick<WindowPlan, "windows">, nowMs: number): readonly WindowReading[] {
    return windows.map((asked) => {
      const { key, withinMs, share } = asked;
      const entries = this.#of(key).filter(({ atMs }) => atMs > nowMs - withinMs);
      this.#entries.set(key, entries);
      const shares = entries.map((entry) => entry.share);
      const before = valueOf(asked, shares);
      const after = share === null ? before : valueOf(asked, [...shares, share]);
      const oldestMs = entries.reduce<number | null>(
        (oldest, { atMs }) => Math.min(oldest ?? atMs, atMs),
        null,
      );
      return { before, after, oldestMs };
    });
  }

  /** Uncounts a call that was certainly not made. */
  giveBack(reservation: string): void {
    for (const [key, entries] of this.#entries)
      this.#entries.set(
        key,
        entries.filter((entry) => entry.reservation !== reservation),
      );
  }

  #of(key: string): readonly Entry[] {
    return this.#entries.get(key) ?? [];
  }
}

/** True when the plan lets the call pass at these readings. */
export function passes(
  { denies, allows, passesAlone }: Omit<WindowPlan, "windows">,
  readings: readonly WindowReading[],
): boolean {
  const isAny = (rules: readonly (readonly WindowClause[])[]) =>
    rules.some((clauses) => clauses.every((clause) => holds(clause, readings)));
  return !isAny(denies) && (passesAlone || isAny(allows));
}

function holds(
  { window, on, ...limit }: WindowClause,
  readings: readonly WindowReading[],
): boolean {
  const value = readings[window]?.[on];
  return value !== undefined && isWithinLimit({ limit }, value);
}

function valueOf({ kind }: Pick<CompiledWindow, "kind">, shares: readonly string[]): number {
  if (kind === "count") return shares.length;
  if (kind === "distinct") return new Set(shares).size;
  return shares.reduce((sum, share) => sum + Number(share), 0);
}
