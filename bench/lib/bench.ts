import type { Stage } from "./stage.ts";

/** What a benchmark is given. */
export interface Bench {
  readonly stage: Stage;
  /** For how long each thing works before it is measured, in milliseconds; see `warmUp`. */
  readonly warmUpMs: number;
  /** Length of one measured window, in milliseconds. */
  readonly windowMs: number;
  /** How often each thing is measured, in turn with its baseline. */
  readonly rounds: number;
}
