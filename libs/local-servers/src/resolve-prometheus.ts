// Prometheus and its check of rules, for tests of rules and dashboards.

import type { FoundBinary } from "./installed-binary.ts";
import { resolveProgram, type ProgramOptions } from "./resolve-program.ts";

const VARIABLES = { prometheus: "YARD_PROMETHEUS_BIN", promtool: "YARD_PROMTOOL_BIN" };

/** Finds a program of Prometheus, or says why there is none. Rejects when its variable names a program that is not usable. */
export async function resolvePrometheus(
  program: keyof typeof VARIABLES,
  options: ProgramOptions,
): Promise<FoundBinary | { reason: string }> {
  const kind = {
    name: program,
    programs: [{ program, minimum: "2.42.0" }],
    binaryVariable: VARIABLES[program],
    brewFormula: "prometheus",
    aptPackages: ["prometheus"],
    // The package depends on fonts and scripts of a web page that tests have no use for.
    aptFromSid: false,
    aptAlone: true,
  };
  return resolveProgram(kind, options);
}
