import { hash } from "node:crypto";
import type { Indicators } from "../scan/indicators.ts";
import type { Suppression } from "../scan/read-suppressions.ts";
import { SCANNER_VERSION } from "../scan/scanner-version.ts";

/** The operator's settings of the scanner, in addition to its built-in rules. */
export interface ScanSettings {
  /** The suppressions for all definitions; one that belongs to another definition has no effect. */
  readonly suppressions: readonly Suppression[];
  /** Known hosts and files. */
  readonly indicators: Indicators | null;
}

export const NO_SETTINGS: ScanSettings = { suppressions: [], indicators: null };

/** Returns what a cached verdict is bound to beside the version: the scanner's rules and the operator's additions to them. */
export function scannerOf({ suppressions, indicators }: ScanSettings): string {
  if (suppressions.length === 0 && indicators === null) return SCANNER_VERSION;
  const text = JSON.stringify(indicators === null ? suppressions : { suppressions, indicators });
  return `${SCANNER_VERSION}+${hash("sha256", text).slice(0, 12)}`;
}
