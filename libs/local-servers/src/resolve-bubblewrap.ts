// The sandbox program.

import type { FoundBinary } from "./installed-binary.ts";
import { resolveProgram, type ProgramOptions } from "./resolve-program.ts";
import type { ProgramKind } from "./server-kinds.ts";

export const BUBBLEWRAP: ProgramKind = {
  name: "bubblewrap",
  programs: [{ program: "bwrap", minimum: "0.7.0" }],
  brewFormula: null,
  aptPackages: ["bubblewrap"],
  aptFromSid: false,
  // A program in the sandbox gets the caller's library path, not the one that bwrap itself needs.
  beforeLibraryPath: `if [ -n "\${LD_LIBRARY_PATH:-}" ]
then set -- --setenv LD_LIBRARY_PATH "$LD_LIBRARY_PATH" "$@"
else set -- --unsetenv LD_LIBRARY_PATH "$@"
fi
`,
};

/**
 * Finds bubblewrap, or returns the reason why there is none. It does not test that bubblewrap can make a sandbox here. Rejects when
 * that of YARD_BIN_DIR is not usable.
 */
export async function resolveBubblewrap(
  options: ProgramOptions,
): Promise<FoundBinary | { reason: string }> {
  return resolveProgram(BUBBLEWRAP, options);
}
