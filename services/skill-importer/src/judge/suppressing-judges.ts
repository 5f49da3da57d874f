import { hash } from "node:crypto";
import type { Suppression } from "../scan/read-suppressions.ts";
import { SCANNER_VERSION } from "../scan/scanner-version.ts";
import type { Judges } from "./judge-job.ts";

/** Judges that know what the operator accepts. */
export function judgesWith(judges: Judges, suppressions: readonly Suppression[]): Judges {
  if (suppressions.length === 0) return judges;
  return {
    skill: (job) => judges.skill({ ...job, suppressions }),
    agent: (job) => judges.agent({ ...job, suppressions }),
  };
}

/** What a kept verdict is bound to beside the version: the rules, and what is accepted of what they find. */
export function scannerOf(suppressions: readonly Suppression[]): string {
  if (suppressions.length === 0) return SCANNER_VERSION;
  const digest = hash("sha256", JSON.stringify(suppressions)).slice(0, 12);
  return `${SCANNER_VERSION}+${digest}`;
}
