import { hash } from "node:crypto";
import type { Indicators } from "../scan/indicators.ts";
import type { Suppression } from "../scan/read-suppressions.ts";
import { SCANNER_VERSION } from "../scan/scanner-version.ts";

/** What the operator tells the scanner, beside what it knows. */
export interface ScanSettings {
  /** Of all definitions; those of others do nothing. */
  readonly suppressions: readonly Suppression[];
  /** Places and files. */
  readonly indicators: Indicators | null;
}

export const NO_SETTINGS: ScanSettings = { suppressions: [], indicators: null };

/** What a kept verdict is bound to beside the version: the rules, and what the operator adds to them. */
export function scannerOf({ suppressions, indicators }: ScanSettings): string {
  if (suppressions.length === 0 && indicators === null) return SCANNER_VERSION;
  const text = JSON.stringify(indicators === null ? suppressions : { suppressions, indicators });
  return `${SCANNER_VERSION}+${hash("sha256", text).slice(0, 12)}`;
}
