// A program that is not a server, found as the servers are: configured or installed, else out of the distribution's packages.

import { unpackDebianPackage, type PackageOptions } from "./debian-packages.ts";
import { findInstalledBinary, type FoundBinary } from "./installed-binary.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import type { ProgramKind } from "./server-kinds.ts";

export interface ProgramOptions extends Omit<PackageOptions, "kind" | "run"> {
  run?: RunCommand;
  /** Searched after PATH. */
  systemDirs?: readonly string[];
  /** False: only use a program that is there already. Default true. */
  fetch?: boolean;
}

/** Finds the program, or returns the reason why there is none. Rejects when the variable of `kind` names a program that is not usable. */
export async function resolveProgram(
  kind: ProgramKind,
  options: ProgramOptions,
): Promise<FoundBinary | { reason: string }> {
  const { run = runCommand, fetch = true } = options;
  const installed = await findInstalledBinary({ ...options, kind, run });
  if ("binary" in installed || !fetch) return installed;
  const unpacked = await unpackDebianPackage({ ...options, kind, run });
  return "binary" in unpacked ? unpacked : { reason: `${installed.reason}; ${unpacked.reason}` };
}
