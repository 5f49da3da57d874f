import { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import type { WithheldReason } from "@switchyard/contracts/skill-importer/definition-store";
import type { SkillVersion } from "@switchyard/contracts/skill-importer/skill-store";
import { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import {
  BUILT_IN_ROOT,
  IMPORTED_ROOT,
  isCalled,
  isOfAFile,
  versionOfEntry,
  type Definition,
  type Entry,
  type Kind,
} from "@switchyard/skills/catalogue/definition";
import { builtInDefinitions } from "@switchyard/skills/catalogue/built-in-agents";
import { changeCatalogue, type ChangeParts } from "./change-catalogue.ts";
import { planCatalogue } from "@switchyard/skills/catalogue/plan-catalogue";
import { refusals } from "./refusals.ts";

/**
 * Removes a definition that a client sent; a built-in agent of the name is listed again. A definition of a file stays, since the
 * file is authoritative. `current` is the version that has the name afterwards.
 */
export function removeImported(
  parts: ChangeParts,
  kind: Kind,
  { name, ifVersion }: { name: string; ifVersion?: string | undefined },
): Promise<{ version: string; current: string | null }> {
  return changeCatalogue(parts, { about: { kind, names: [name] } }, async (current) => {
    const { listed, imported } = current[kind];
    checkVersion(kind, listed[0], { name, ifVersion });
    const [sent] = imported;
    if (sent === undefined) throw await notImported(parts, kind, { name, listed: listed[0] });
    const builtIn = builtInDefinitions.filter((one) => one.kind === kind && one.name === name);
    const plan = planCatalogue({
      current: listed,
      found: builtIn.map(({ entry }) => entry),
      isInScope: (entry) => !isOfAFile(entry),
      roots: parts.roots,
    });
    const now = plan.remove.length > 0 ? undefined : (plan.set[0] ?? listed[0]);
    return {
      result: {
        version: versionOfEntry(sent),
        current: now === undefined ? null : versionOfEntry(now),
      },
      change: { listed: { [kind]: plan }, imported: { [kind]: { set: [], remove: [name] } } },
      restored: builtIn,
    };
  });
}

/** Makes an older version the current one. It is chosen by the caller, or is the one before the current. */
export async function rollback(
  parts: ChangeParts,
  kind: Kind,
  {
    name,
    wanted,
    ifVersion,
  }: { name: string; wanted: string | undefined; ifVersion?: string | undefined },
): Promise<{ version: string; before: string | null }> {
  const all = await parts.versions.list(kind, name);
  return changeCatalogue(parts, { about: { kind, names: [name] } }, async (current) => {
    const { listed, imported } = current[kind];
    checkVersion(kind, listed[0], { name, ifVersion });
    const file = listed.find(isOfAFile)?.file;
    if (file !== undefined) throw refusals(kind).managedByFiles(name, file);
    if (all.length === 0) throw refusals(kind).unknown(name, await parts.store.list(kind));
    const [sent] = imported;
    const before = sent === undefined ? null : versionOfEntry(sent);
    const target = all.find(({ version, verdict }) =>
      wanted === undefined
        ? version !== before && verdict?.verdict !== "blocked"
        : version === wanted,
    );
    const definition = target && (await storedVersion(parts, kind, { name, record: target, sent }));
    if (target === undefined || definition === undefined)
      throw refusals(kind).unknownVersion(name, wanted);
    const { version, verdict } = target;
    // A user may have trusted it although the scanner blocks it.
    const isTrusted = current.trust.some(
      (one) => one.kind === kind && one.name === name && one.version === version && one.blocked,
    );
    if (verdict?.verdict === "blocked" && !isTrusted) throw refusals(kind).blocked(name, version);
    const plan = planCatalogue({
      current: listed,
      found: [definition.entry],
      isInScope: ({ root }) => root === IMPORTED_ROOT,
      roots: parts.roots,
    });
    return {
      result: { version, before },
      change: {
        listed: { [kind]: plan },
        imported: { [kind]: { set: [definition.entry], remove: [] } },
      },
      definitions: [definition],
      // Restored before it becomes current: a listed version never expires.
      restored: [definition],
    };
  });
}

/** Lists a withheld definition. The trust is for this version at this path, and is stored with the user who gave it. */
export function trust(
  parts: ChangeParts,
  wanted: { kind: Kind; name: string; version: string; reason: string; by: string },
): Promise<{ was: WithheldReason }> {
  const { kind, name, version, reason, by } = wanted;
  return changeCatalogue(parts, {}, (current) => {
    const item = current.withheld.find((one) => isCalled(one, wanted));
    if (item === undefined) throw refusals(kind).notWithheld(name, version);
    const { entry } = item;
    const { root, file } = entry;
    const blocked = entry.blocked === true;
    if (blocked && reason === "") throw refusals(kind).needsReason(name, version);
    const plan = planCatalogue({
      current: current[kind].listed.filter(({ summary }) => summary.name === name),
      found: [entry],
      // An entry of the same path is an older version of this one.
      isInScope: (one) => one.root === root && (root === IMPORTED_ROOT || one.file === file),
      roots: parts.roots,
    });
    const at = parts.now().toISOString();
    return {
      result: { was: item.reason },
      change: {
        listed: { [kind]: plan },
        ...(root === IMPORTED_ROOT ? { imported: { [kind]: { set: [entry], remove: [] } } } : {}),
        withheld: { set: [], remove: [item] },
        trust: { kind, name, version, root, file, blocked, by, at, reason },
      },
    };
  });
}

function checkVersion(
  kind: Kind,
  listed: Entry | undefined,
  { name, ifVersion }: { name: string; ifVersion?: string | undefined },
): void {
  const version = listed === undefined ? null : versionOfEntry(listed);
  if (ifVersion === undefined || ifVersion === version) return;
  throw refusals(kind).versionChanged(name, version);
}

async function notImported(
  { store }: ChangeParts,
  kind: Kind,
  { name, listed }: { name: string; listed: Entry | undefined },
): Promise<Error> {
  const say = refusals(kind);
  if (listed === undefined) return say.unknown(name, await store.list(kind));
  if (listed.root === BUILT_IN_ROOT) return say.builtIn(name);
  return say.managedByFiles(name, listed.file);
}

/** A version as it is listed when it is current again: as one that a client sent. */
async function storedVersion(
  { store }: ChangeParts,
  kind: Kind,
  { name, record, sent }: { name: string; record: SkillVersion; sent: Entry | undefined },
): Promise<Definition | undefined> {
  const { version } = record;
  const content = { name, version, files: new Map(), facts: record.files, report: null };
  if (kind === "skill") {
    const stored = await store.read(kind, name, version);
    if (stored === null) return undefined;
    const summary = SkillSummary.parse({ ...stored.skill, scope: "imported" });
    const entry = { root: IMPORTED_ROOT, file: `${stored.skill.path}/SKILL.md`, summary };
    return { ...content, kind, stored, entry };
  }
  const found = await store.read(kind, name, version);
  if (found === null) return undefined;
  const stored = { ...found, source: "imported" as const };
  const summary = AgentSummary.parse(stored);
  const entry = { root: IMPORTED_ROOT, file: sent?.file ?? `agents/${name}`, summary };
  return { ...content, kind, stored, entry };
}
