// Prometheus' own check of rules, for tests.

import type { FoundBinary } from "./installed-binary.ts";
import { resolveProgram, type ProgramOptions } from "./resolve-program.ts";
import type { ProgramKind } from "./server-kinds.ts";

const PROMTOOL: ProgramKind = {
  name: "promtool",
  programs: [{ program: "promtool", minimum: "2.42.0" }],
  binaryVariable: "YARD_PROMTOOL_BIN",
  brewFormula: "prometheus",
  aptPackages: ["prometheus"],
  // Its package depends on fonts and scripts of a web page that promtool has no use for.
  aptFromSid: false,
  aptAlone: true,
};

/** Finds promtool, or says why there is none. Rejects when YARD_PROMTOOL_BIN names a program that is not usable. */
export async function resolvePromtool(
  options: ProgramOptions,
): Promise<FoundBinary | { reason: string }> {
  return resolveProgram(PROMTOOL, options);
}
