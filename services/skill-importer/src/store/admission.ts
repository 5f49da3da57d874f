import { WithheldReason } from "@switchyard/contracts/definition-store";
import { z } from "zod";
import { AgentEntry, IMPORTED_ROOT, SkillEntry, versionOfEntry, type Entry } from "./definition.ts";

type Kind = "skill" | "agent";
type AnyEntry = Entry<{ name: string; digest: string }>;

/** Somebody looked at one version at one place, and wants it to be used. */
export const TrustRecord = z.object({
  kind: z.enum(["skill", "agent"]),
  name: z.string(),
  version: z.string(),
  root: z.string(),
  file: z.string(),
  /** True when the scanner blocked it at that time. */
  blocked: z.boolean(),
  by: z.string(),
  at: z.string(),
  reason: z.string(),
});
export type TrustRecord = z.infer<typeof TrustRecord>;

/** What is stored and not listed. */
export const WithheldEntry = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("skill"), reason: WithheldReason, entry: SkillEntry }),
  z.object({ kind: z.literal("agent"), reason: WithheldReason, entry: AgentEntry }),
]);
export type WithheldEntry = z.infer<typeof WithheldEntry>;

/** Why an entry must not be listed, or null when it may be. */
export function admit(
  kind: Kind,
  entry: AnyEntry,
  records: readonly TrustRecord[],
): WithheldReason | null {
  const here = records.filter((record) => isAbout(record, kind, entry));
  const exact = here.find((record) => record.version === versionOfEntry(entry));
  if (entry.blocked === true && exact?.blocked !== true) return "blocked";
  if (entry.needsTrust !== true || exact !== undefined) return null;
  return here.length > 0 ? "changed" : "untrusted";
}

/** Splits what was found into what may be listed and what waits for somebody's trust. */
export function admitAll<E extends AnyEntry>(
  kind: Kind,
  entries: readonly E[],
  records: readonly TrustRecord[],
): { admitted: E[]; withheld: { entry: E; reason: WithheldReason }[] } {
  const admitted: E[] = [];
  const withheld: { entry: E; reason: WithheldReason }[] = [];
  for (const entry of entries) {
    const reason = admit(kind, entry, records);
    if (reason === null) admitted.push(entry);
    else withheld.push({ entry, reason });
  }
  return { admitted, withheld };
}

/** The trust is for a place, too: the same bytes elsewhere in a project may be reached by another name. */
function isAbout(record: TrustRecord, kind: Kind, entry: AnyEntry): boolean {
  if (record.kind !== kind || record.name !== entry.summary.name) return false;
  if (record.root !== entry.root) return false;
  return entry.root === IMPORTED_ROOT || record.file === entry.file;
}
