import type { WithheldReason } from "@switchyard/contracts/skill-importer/definition-store";
import {
  IMPORTED_ROOT,
  versionOfEntry,
  type Entry,
  type Kind,
  type TrustRecord,
  type WithheldEntry,
} from "./definition.ts";

/** Returns the reason why an entry must not be listed, or null when it may be. */
export function admit(
  kind: Kind,
  entry: Entry,
  records: readonly TrustRecord[],
): WithheldReason | null {
  const here = records.filter((record) => isAbout(record, kind, entry));
  const exact = here.find((record) => record.version === versionOfEntry(entry));
  if (entry.blocked === true && exact?.blocked !== true) return "blocked";
  if (entry.needsTrust !== true || exact !== undefined) return null;
  return here.length > 0 ? "changed" : "untrusted";
}

/** Splits the definitions found into those that may be listed and those that wait for a user's trust. */
export function admitAll(
  kind: Kind,
  entries: readonly Entry[],
  records: readonly TrustRecord[],
): { admitted: Entry[]; withheld: WithheldEntry[] } {
  const admitted: Entry[] = [];
  const withheld: WithheldEntry[] = [];
  for (const entry of entries) {
    const reason = admit(kind, entry, records);
    if (reason === null) admitted.push(entry);
    else withheld.push({ kind, reason, entry });
  }
  return { admitted, withheld };
}

/** Trust is bound to a path, too: the same bytes elsewhere in a project may be reached by another name. */
function isAbout(record: TrustRecord, kind: Kind, entry: Entry): boolean {
  if (record.kind !== kind || record.name !== entry.summary.name) return false;
  if (record.root !== entry.root) return false;
  return entry.root === IMPORTED_ROOT || record.file === entry.file;
}
