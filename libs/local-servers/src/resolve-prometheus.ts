// Prometheus and its check of rules, for tests of rules and dashboards.

import type { FoundBinary } from "./installed-binary.ts";
import { resolveProgram, type ProgramOptions } from "./resolve-program.ts";

/** Finds a program of Prometheus, or says why there is none. Rejects when that of YARD_BIN_DIR is not usable. */
export async function resolvePrometheus(
  program: "prometheus" | "promtool",
  options: ProgramOptions,
): Promise<FoundBinary | { reason: string }> {
  const kind = {
    name: program,
    programs: [{ program, minimum: "2.42.0" }],
    brewFormula: "prometheus",
    aptPackages: ["prometheus"],
    // The package depends on fonts and scripts of a web page that tests have no use for.
    aptFromSid: false,
    aptAlone: true,
  };
  return resolveProgram(kind, options);
}
