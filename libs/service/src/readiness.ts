/** One named check. It must be cheap: it runs at every probe. */
export type Check = () => boolean | Promise<boolean>;

export type Phase = "starting" | "running" | "stopping";

export interface ReadinessReport {
  readonly ready: boolean;
  readonly status: "ready" | "not_ready" | "starting" | "stopping";
  readonly checks: Readonly<Record<string, "ok" | "failing" | "timeout">>;
  /** How the process does its work here; absent when there is nothing to say. */
  readonly details?: Readonly<Record<string, string>>;
}

/** Whether a process may be sent work: it runs, and every check passes within its time. */
export class Readiness {
  readonly #checks = new Map<string, Check>();
  readonly #details = new Map<string, string>();
  readonly #timeoutMs: number;
  phase: Phase = "starting";

  /** `timeoutMs` is what one check may take; the checks run side by side. */
  constructor(timeoutMs = 1_000) {
    this.#timeoutMs = timeoutMs;
  }

  add(name: string, check: Check): void {
    if (this.#checks.has(name)) throw new TypeError(`there is a readiness check ${name} already`);
    this.#checks.set(name, check);
  }

  /** Adds a fact for operators that decides nothing. It must hold no secret: probes are not asked who they are. */
  describe(name: string, fact: string): void {
    this.#details.set(name, fact);
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      [...this.#checks].map(
        async ([name, check]) => [name, await outcomeOf(check, this.#timeoutMs)] as const,
      ),
    );
    const allPass = results.every(([, outcome]) => outcome === "ok");
    // Read after the checks: a signal may have arrived while they ran.
    const ready = this.phase === "running" && allPass;
    const status = this.phase === "running" ? (allPass ? "ready" : "not_ready") : this.phase;
    const details = Object.fromEntries(this.#details);
    return {
      ready,
      status,
      checks: Object.fromEntries(results),
      ...(this.#details.size === 0 ? {} : { details }),
    };
  }
}

async function outcomeOf(check: Check, timeoutMs: number): Promise<"ok" | "failing" | "timeout"> {
  const { promise: timeout, resolve } = Promise.withResolvers<"timeout">();
  const timer = setTimeout(() => resolve("timeout"), timeoutMs);
  const run = async () => ((await check()) ? "ok" : "failing");
  try {
    return await Promise.race([run(), timeout]);
  } catch {
    return "failing";
  } finally {
    clearTimeout(timer);
  }
}
