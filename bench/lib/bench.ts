import type { Stage } from "./stage.ts";

/** The input of a benchmark. */
export interface Bench {
  readonly stage: Stage;
  /** Warm-up before each measurement, in milliseconds; see `warmUp`. */
  readonly warmUpMs: number;
  /** Length of one measured window, in milliseconds. */
  readonly windowMs: number;
  /** Measurements of each variant, in turn with its baseline. */
  readonly rounds: number;
}
