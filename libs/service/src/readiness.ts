import { within } from "@switchyard/contracts/timeouts";

/** One named check. It must be cheap: it runs at every probe. A text is the reason of a failure; it must hold no secret. */
export type Check = () => boolean | string | Promise<boolean | string>;

export type Phase = "starting" | "running" | "stopping";

export interface ReadinessReport {
  readonly ready: boolean;
  readonly status: "ready" | "not_ready" | "starting" | "stopping";
  readonly checks: Readonly<Record<string, "ok" | "failing" | "timeout">>;
  /** Reasons of failed checks, by name; absent when there are none. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** The way in which the process does its work here; absent when there is nothing to report. */
  readonly details?: Readonly<Record<string, string>>;
}

/** Decides if a process may receive work: it runs, and every check passes within its time. */
export class Readiness {
  readonly #checks = new Map<string, Check>();
  readonly #details = new Map<string, string>();
  readonly #timeoutMs: number;
  phase: Phase = "starting";
  /** Names what a start waits for; it is reported while the phase is `starting`, and must hold no secret. */
  startsWith = "";

  /** `timeoutMs` is the time limit of one check; the checks run side by side. */
  constructor(timeoutMs = 1_000) {
    this.#timeoutMs = timeoutMs;
  }

  add(name: string, check: Check): void {
    if (this.#checks.has(name)) throw new TypeError(`there is a readiness check ${name} already`);
    this.#checks.set(name, check);
  }

  /** Adds a fact for operators that decides nothing. It must hold no secret: probes are not authenticated. */
  describe(name: string, fact: string): void {
    this.#details.set(name, fact);
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      [...this.#checks].map(
        async ([name, check]) => [name, await outcomeOf(check, this.#timeoutMs)] as const,
      ),
    );
    const allPass = results.every(([, { outcome }]) => outcome === "ok");
    // Read after the checks: a signal may have arrived while they ran.
    const ready = this.phase === "running" && allPass;
    const status = this.phase === "running" ? (allPass ? "ready" : "not_ready") : this.phase;
    const reasons = results.flatMap(([name, { reason }]) =>
      reason === null ? [] : [[name, reason]],
    );
    if (status === "starting" && this.startsWith !== "") reasons.push(["start", this.startsWith]);
    return {
      ready,
      status,
      checks: Object.fromEntries(results.map(([name, { outcome }]) => [name, outcome])),
      ...(reasons.length === 0 ? {} : { reasons: Object.fromEntries(reasons) }),
      ...(this.#details.size === 0 ? {} : { details: Object.fromEntries(this.#details) }),
    };
  }
}

interface CheckResult {
  readonly outcome: "ok" | "failing" | "timeout";
  readonly reason: string | null;
}

async function outcomeOf(check: Check, timeoutMs: number): Promise<CheckResult> {
  const run = async (): Promise<CheckResult> => {
    const answer = await check();
    if (answer === true) return { outcome: "ok", reason: null };
    return { outcome: "failing", reason: answer === false ? null : answer };
  };
  try {
    return await within(run(), { ms: timeoutMs }, () => ({ outcome: "timeout", reason: null }));
  } catch {
    return { outcome: "failing", reason: null };
  }
}
