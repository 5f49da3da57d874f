import type { Stage } from "./stage.ts";

/** What a benchmark is given. */
export interface Bench {
  readonly stage: Stage;
  /** Length of one measured window, in milliseconds. */
  readonly windowMs: number;
  /** How often each thing is measured, in turn with its baseline. */
  readonly rounds: number;
}
