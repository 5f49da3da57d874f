import { SkillSummary } from "@switchyard/contracts/skills";
import { dependenciesOf } from "../skill/dependencies-of.ts";
import type { Announcement } from "./catalogue-commit.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import { versionOfEntry, type SkillEntry, type StoredSkill } from "./definition.ts";

export interface AnnounceParts {
  readonly store: Pick<CatalogueStore, "readSkill">;
  readonly newId: () => string;
}

/**
 * The announcements of newly listed skills, with whether this machine has what each of them needs.
 * `read` holds those that this change has read; the others, which were stored before, are looked up.
 */
export async function announceSkills(
  { store, newId }: AnnounceParts,
  entries: readonly SkillEntry[],
  { at, read }: { at: string; read: ReadonlyMap<SkillEntry, StoredSkill> },
): Promise<Announcement[]> {
  const announcements: Announcement[] = [];
  for (const entry of entries) {
    const { name } = entry.summary;
    const stored = read.get(entry) ?? (await store.readSkill(name, versionOfEntry(entry)));
    const dependencies = await dependenciesOf(stored?.metadata ?? null);
    announcements.push({
      id: newId(),
      at,
      kind: "skill",
      summary: SkillSummary.parse(entry.summary),
      dependenciesMet: dependencies?.met ?? null,
    });
  }
  return announcements;
}
