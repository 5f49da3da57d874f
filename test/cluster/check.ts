import type { Kubectl } from "./kubectl.ts";
import type { Lab } from "./lab.ts";
import type { Load } from "./load/load.ts";

/** The cluster, as every check gets it. */
export interface World {
  /** The folder of what is built once. */
  readonly cache: string;
  readonly lab: Lab;
  /** In the namespace of the installation. */
  readonly kubectl: Kubectl;
  readonly load: Load;
  /** Programs that the cluster lacks, with the reason. */
  readonly missing: ReadonlyMap<string, string>;
}

export interface Check {
  /** The name for `--only`. */
  readonly name: string;
  /** A sentence that is true when the check passes. */
  readonly title: string;
  /** Later checks need what this one installs, so `--only` does not leave it out. */
  readonly isInstallation?: true;
  readonly minutes?: number;
  /** The reason why it cannot be run here. */
  readonly skip?: (world: World) => string | null;
  /** Returns what was measured, in a few words. */
  readonly run: (world: World) => Promise<string>;
}

export interface Outcome {
  readonly check: Check;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  /** The measured facts, the error or the reason. */
  readonly text: string;
}
