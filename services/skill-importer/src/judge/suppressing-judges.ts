import { hash } from "node:crypto";
import type { Suppression } from "../scan/read-suppressions.ts";
import type { Indicators } from "../scan/indicators.ts";
import { SCANNER_VERSION } from "../scan/scanner-version.ts";
import type { Judges } from "./judge-job.ts";

/** What the operator tells the scanner, beside what it knows. */
export interface ScanSettings {
  readonly suppressions: readonly Suppression[];
  readonly indicators: Indicators | null;
}

/** Judges that know what the operator accepts and knows. */
export function judgesWith(judges: Judges, settings: ScanSettings): Judges {
  if (isEmpty(settings)) return judges;
  return {
    skill: (job) => judges.skill({ ...job, ...settings }),
    agent: (job) => judges.agent({ ...job, ...settings }),
  };
}

/** What a kept verdict is bound to beside the version: the rules, and what the operator adds to them. */
export function scannerOf(settings: Partial<ScanSettings>): string {
  const { suppressions = [], indicators = null } = settings;
  if (isEmpty({ suppressions, indicators })) return SCANNER_VERSION;
  const text = JSON.stringify(indicators === null ? suppressions : { suppressions, indicators });
  return `${SCANNER_VERSION}+${hash("sha256", text).slice(0, 12)}`;
}

function isEmpty({ suppressions, indicators }: ScanSettings): boolean {
  return suppressions.length === 0 && indicators === null;
}
