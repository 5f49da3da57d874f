// The sandbox program, found as the servers are: what somebody named or installed, else out of the distribution's packages.

import { unpackDebianPackage, type PackageOptions } from "./debian-packages.ts";
import { findInstalledBinary, type FoundBinary } from "./installed-binary.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import type { ProgramKind } from "./server-kinds.ts";

export const BUBBLEWRAP: ProgramKind = {
  name: "bubblewrap",
  programs: [{ program: "bwrap", minimum: "0.7.0" }],
  binaryVariable: "YARD_BWRAP_BIN",
  brewFormula: null,
  aptPackages: ["bubblewrap"],
  aptFromSid: false,
  // What runs in the sandbox gets the caller's library path, not the one that bwrap itself needs.
  beforeLibraryPath: `if [ -n "\${LD_LIBRARY_PATH:-}" ]
then set -- --setenv LD_LIBRARY_PATH "$LD_LIBRARY_PATH" "$@"
else set -- --unsetenv LD_LIBRARY_PATH "$@"
fi
`,
};

export interface BubblewrapOptions extends Omit<PackageOptions, "kind" | "run"> {
  run?: RunCommand;
  /** Searched after PATH. */
  systemDirs?: readonly string[];
  /** False: take what is there already. Default true. */
  fetch?: boolean;
}

/**
 * Finds bubblewrap, or says why there is none. Whether it can make a sandbox here is not tried.
 * Rejects when YARD_BWRAP_BIN names a program that is not usable.
 */
export async function resolveBubblewrap(
  options: BubblewrapOptions,
): Promise<FoundBinary | { reason: string }> {
  const { run = runCommand, fetch = true } = options;
  const installed = await findInstalledBinary({ ...options, kind: BUBBLEWRAP, run });
  if ("binary" in installed || !fetch) return installed;
  const unpacked = await unpackDebianPackage({ ...options, kind: BUBBLEWRAP, run });
  return "binary" in unpacked ? unpacked : { reason: `${installed.reason}; ${unpacked.reason}` };
}
