import { SkillSummary } from "@switchyard/contracts/skills";
import type { WithheldReason } from "@switchyard/contracts/definition-store";
import type { WithheldEntry } from "./admission.ts";
import { planCatalogue, type CatalogueInput, type CataloguePlan } from "./catalogue-plan.ts";
import { announceSkills } from "./announce-skills.ts";
import type { Announcement, CatalogueChange } from "./catalogue-commit.ts";
import type { Catalogue } from "./catalogue.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import { IMPORTED_ROOT, versionOfEntry, type Entry, type SkillEntry } from "./definition.ts";
import type { VersionStore } from "./version-store.ts";

export interface ChangeParts {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  /** Paths of the roots, the first first. */
  readonly roots: readonly string[];
  readonly now: () => Date;
  readonly newId: () => string;
  readonly announce: () => Promise<void>;
}

export type RemoveResult =
  | { readonly kind: "removed"; readonly version: string }
  | { readonly kind: "managed-by-files"; readonly file: string }
  | { readonly kind: "unknown" };

export type RollbackResult =
  | { readonly kind: "rolled-back"; readonly version: string; readonly before: string | null }
  | { readonly kind: "managed-by-files"; readonly file: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "unknown-version" }
  | { readonly kind: "blocked"; readonly version: string };

export type TrustResult =
  | { readonly kind: "trusted"; readonly was: WithheldReason }
  | { readonly kind: "not-withheld" }
  | { readonly kind: "reason-missing" };

const MAX_ATTEMPTS = 20;
const NOTHING = { set: [], remove: [], announce: [], hidden: [] };

/** Takes an imported skill off the list. What a file says stays: the file is the truth. */
export async function removeImported(parts: ChangeParts, name: string): Promise<RemoveResult> {
  return changing(parts, name, (current) => {
    const [imported] = current.imported;
    if (imported === undefined) return { result: withoutImport(current) };
    const [listed] = current.skills;
    const version = versionOfEntry(imported);
    const isListed = listed?.root === IMPORTED_ROOT;
    return {
      result: { kind: "removed", version },
      change: {
        skills: isListed ? { ...NOTHING, remove: [name] } : NOTHING,
        imported: { set: [], remove: [name] },
        announcements: isListed
          ? [{ ...newAnnouncement(parts), kind: "skill-removed" as const, name, version }]
          : [],
      },
    };
  });
}

/** Makes an older version the current one. It is chosen by the caller, or is the one before the current. */
export async function rollback(
  parts: ChangeParts,
  name: string,
  wanted: string | undefined,
): Promise<RollbackResult> {
  const { store, versions, roots } = parts;
  const all = await versions.list(name);
  return changing<RollbackResult>(parts, name, async (current) => {
    const [before] = current.imported;
    const [listed] = current.skills;
    if (listed !== undefined && listed.root !== IMPORTED_ROOT) {
      return { result: { kind: "managed-by-files", file: listed.file } };
    }
    if (all.length === 0) return { result: { kind: "unknown" } };
    const now = before === undefined ? null : versionOfEntry(before);
    const target = all.find(({ version, verdict }) =>
      wanted === undefined ? version !== now && verdict?.verdict !== "blocked" : version === wanted,
    );
    const stored = target === undefined ? null : await store.readSkill(name, target.version);
    if (target === undefined || stored === null) return { result: { kind: "unknown-version" } };
    const { version } = target;
    const isTrusted = current.trust.some(
      (record) => record.name === name && record.version === version && record.blocked,
    );
    if (target.verdict?.verdict === "blocked" && !isTrusted) {
      return { result: { kind: "blocked", version } };
    }
    const entry: SkillEntry = {
      root: IMPORTED_ROOT,
      file: `${stored.skill.path}/SKILL.md`,
      summary: SkillSummary.parse({ ...stored.skill, scope: "imported" }),
    };
    const skills = planCatalogue({
      current: current.skills,
      found: [entry],
      isInScope: ({ root }) => root === IMPORTED_ROOT,
      roots,
    });
    return {
      result: { kind: "rolled-back", version, before: now },
      change: {
        skills,
        imported: { set: [entry], remove: [] },
        announcements: await importedAnnouncements(parts, skills),
      },
      // Before it is current: what is listed never has an end.
      before: () => versions.restore(name, version),
    };
  });
}

/** Lists what was withheld. The trust holds for this version at this place, and is kept with who gave it. */
export async function trust(
  parts: ChangeParts,
  wanted: { kind: "skill" | "agent"; name: string; version: string; reason: string; by: string },
): Promise<TrustResult> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const current = await parts.store.load();
    const item = current.withheld.find(
      ({ kind, entry }) =>
        kind === wanted.kind &&
        entry.summary.name === wanted.name &&
        versionOfEntry(entry) === wanted.version,
    );
    if (item === undefined) return { kind: "not-withheld" };
    const blocked = item.entry.blocked === true;
    if (blocked && wanted.reason === "") return { kind: "reason-missing" };
    const { root, file } = item.entry;
    const { kind, name, version, reason, by } = wanted;
    const at = parts.now().toISOString();
    const done = await parts.store.commit(current, {
      ...(await listing(parts, current, item)),
      withheld: { set: [], remove: [item] },
      trust: { kind, name, version, root, file, blocked, by, at, reason },
    });
    if (done) {
      await parts.announce();
      return { kind: "trusted", was: item.reason };
    }
  }
  throw new Error(`the catalogue changed ${MAX_ATTEMPTS} times during one change`);
}

/** What the catalogue becomes when this entry may be listed. */
async function listing(
  parts: ChangeParts,
  current: Catalogue,
  item: WithheldEntry,
): Promise<CatalogueChange> {
  const { roots } = parts;
  if (item.kind === "agent") {
    const agents = planCatalogue({ ...sameName(current.agents, item.entry), roots });
    const announcements = agents.announce.map(({ summary }): Announcement => {
      const { id, at } = newAnnouncement(parts);
      return { id, at, kind: "agent", summary };
    });
    const isSent = item.entry.root === IMPORTED_ROOT;
    return {
      skills: NOTHING,
      agents,
      announcements,
      ...(isSent ? { importedAgents: { set: [item.entry], remove: [] } } : {}),
    };
  }
  const skills = planCatalogue({ ...sameName(current.skills, item.entry), roots });
  const isImported = item.entry.root === IMPORTED_ROOT;
  return {
    skills,
    agents: NOTHING,
    announcements: await importedAnnouncements(parts, skills),
    ...(isImported ? { imported: { set: [item.entry], remove: [] } } : {}),
  };
}

/** An entry of the same place is an older version of this one. */
function sameName<S extends { name: string; digest: string }>(
  listed: readonly Entry<S>[],
  entry: Entry<S>,
): Pick<CatalogueInput<S>, "current" | "found" | "isInScope"> {
  return {
    current: listed.filter(({ summary }) => summary.name === entry.summary.name),
    found: [entry],
    isInScope: ({ root, file }) =>
      root === entry.root && (root === IMPORTED_ROOT || file === entry.file),
  };
}

function importedAnnouncements(
  parts: ChangeParts,
  skills: CataloguePlan<SkillEntry["summary"]>,
): Promise<Announcement[]> {
  const at = parts.now().toISOString();
  return announceSkills(parts, skills.announce, { at, read: new Map() });
}

interface Decision<R> {
  readonly result: R;
  /** Missing: nothing changes. */
  readonly change?: Omit<CatalogueChange, "agents">;
  /** What has to be done first. */
  readonly before?: () => Promise<void>;
}

/** Plans against one name until nobody else was faster. */
async function changing<R>(
  { store, announce }: ChangeParts,
  name: string,
  decide: (current: Catalogue) => Decision<R> | Promise<Decision<R>>,
): Promise<R> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const current = await store.loadSkills([name]);
    const { result, change, before } = await decide(current);
    if (change === undefined) return result;
    await before?.();
    if (!(await store.commit(current, { ...change, agents: NOTHING }))) continue;
    await announce();
    return result;
  }
  throw new Error(`the catalogue changed ${MAX_ATTEMPTS} times during one change`);
}

function withoutImport(current: Catalogue): RemoveResult {
  const [listed] = current.skills;
  return listed === undefined
    ? { kind: "unknown" }
    : { kind: "managed-by-files", file: listed.file };
}

function newAnnouncement({ newId, now }: ChangeParts): { id: string; at: string } {
  return { id: newId(), at: now().toISOString() };
}
