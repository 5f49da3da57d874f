import type { Log } from "./log.ts";

/** Undoes one step of a start. `remainingMs` is the rest of the whole budget. */
export type StopStep = (remainingMs: number) => Promise<void>;

interface Step {
  readonly name: string;
  readonly stop: StopStep;
  readonly within: (() => string) | undefined;
}

/**
 * The steps that undo a start, last one first. Each part is pushed as soon as it is started, so a stop in the
 * middle of a start undoes only what was started; a step that is pushed after the stop is undone at once.
 */
export class StopSteps {
  readonly #steps: Step[] = [];
  readonly #log: Log;
  #isUndone = false;
  #hasFailed = false;
  #current: Step | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** The step that is being undone: its name, and the step within it, if it has some. */
  get current(): string {
    const { name = "", within } = this.#current ?? {};
    const inner = within?.() ?? "";
    return inner === "" ? name : `${name}: ${inner}`;
  }

  /** `within` names the part of the step that is being undone. */
  push(name: string, stop: StopStep, within?: () => string): void {
    this.#steps.push({ name, stop, within });
    if (this.#isUndone) void this.undo(() => 0);
  }

  /** Undoes all steps and continues after one that fails. Resolves to false when one has failed, which is logged. */
  async undo(remainingMs: () => number): Promise<boolean> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      this.#current = step;
      try {
        await step.stop(remainingMs());
      } catch (err) {
        this.#hasFailed = true;
        this.#log.error({ err, step: step.name }, "stop step failed");
      }
    }
    this.#isUndone = true;
    return !this.#hasFailed;
  }
}
