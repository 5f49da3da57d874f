import type { Log } from "./log.ts";
import type { StopSteps } from "./stop-steps.ts";

/** Stops a process: undoes the steps of the start, last one first, within a budget, and exits. */
export class Shutdown {
  readonly #steps: StopSteps;
  readonly #log: Log;
  readonly #drainMs: number;
  readonly #onBegin: () => void;
  readonly #end: (code: number) => void;
  #deadline: NodeJS.Timeout | undefined;
  #exitCode = 0;
  /** The exit code when no step failed. */
  #inOrder = 0;
  #stopping = false;

  /** `onBegin` runs at once when the stop begins, before the first step. */
  constructor(options: {
    log: Log;
    steps: StopSteps;
    drainMs: number;
    onBegin: () => void;
    exit: (code: number) => void;
  }) {
    this.#log = options.log;
    this.#steps = options.steps;
    this.#drainMs = options.drainMs;
    this.#onBegin = options.onBegin;
    this.#end = options.exit;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Begins an orderly stop that ends with this exit code if nothing fails; during another stop it does nothing. */
  begin(reason: string, exitCode = 0): void {
    if (this.#stopping) return;
    this.#inOrder = exitCode;
    this.#begin(reason, this.#drainMs);
  }

  /** Begins a stop that leaves only a short time for requests in flight; a stop that has begun only gets the exit code. */
  beginAfterFault(reason: string, exitCode = 1): void {
    this.#exitCode = exitCode;
    this.#begin(reason, Math.min(this.#drainMs, FAULT_BUDGET_MS));
  }

  /** The first signal begins an orderly stop, the second ends the process at once. */
  signal(name: NodeJS.Signals): void {
    if (!this.#stopping) return this.begin(name);
    this.#log.warn({ signal: name }, "second signal, exiting without waiting");
    this.#exit(1);
  }

  #begin(reason: string, budgetMs: number): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#log.info({ reason, budgetMs }, "service stopping");
    this.#onBegin();
    void this.#run(budgetMs);
  }

  async #run(budgetMs: number): Promise<void> {
    const startedAt = performance.now();
    const remaining = () => Math.max(0, budgetMs - (performance.now() - startedAt));
    this.#deadline = setTimeout(() => {
      this.#log.error({ step: this.#steps.current, budgetMs }, "drain deadline passed, exiting");
      this.#exit(1);
    }, budgetMs);
    if (!(await this.#steps.undo(remaining))) this.#exitCode ||= 1;
    const durationMs = Math.round(performance.now() - startedAt);
    this.#log.info({ durationMs }, "service stopped");
    this.#exit(this.#exitCode === 0 ? this.#inOrder : this.#exitCode);
  }

  #exit(code: number): void {
    clearTimeout(this.#deadline);
    this.#end(code);
  }
}

const FAULT_BUDGET_MS = 2_000;
