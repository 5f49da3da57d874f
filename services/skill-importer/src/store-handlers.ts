import type { Service } from "@switchyard/bus/serve";
import {
  diffSkill,
  listVersions,
  listWithheld,
  readSkillFile,
  removeSkill,
  rollbackSkill,
  trustSkill,
  unpackSkills,
  uploadSkills,
  type SentSkill,
  type SkillVersion,
} from "@switchyard/contracts/skill-store";
import { packageOf, packagesIn, type SkillPackage } from "./source/skill-package.ts";
import { removeImported, rollback, trust, type ChangeParts } from "./store/change-skill.ts";
import { versionOfEntry } from "./store/definition.ts";
import { diffVersions, type VersionSide } from "./store/diff-versions.ts";
import {
  bytesOfSent,
  knownNames,
  pairOf,
  refusals,
  requireAdmin,
  requireSize,
  unpackSent,
} from "./upload/intake.ts";
import { uploadSkills as upload, type UploadParts } from "./upload/upload-skills.ts";

export interface StoreHandlerParts {
  readonly change: ChangeParts;
  readonly upload: UploadParts;
  /** NATS users that may change what is imported. */
  readonly admins: readonly string[];
}

const MAX_KNOWN = 50;
const say = refusals("skill");

/** Answers what clients bring in, and everything about versions. */
export function serveSkillStore(service: Pick<Service, "handle">, parts: StoreHandlerParts): void {
  serveUploads(service, parts);
  serveChanges(service, parts);
  serveVersions(service, parts.change);
}

function serveUploads(
  service: Pick<Service, "handle">,
  { upload: uploads, admins }: StoreHandlerParts,
): void {
  service.handle(uploadSkills, async (request, context) => {
    const { caller, fail } = context;
    if (!request.dryRun) requireAdmin(context, admins);
    requireSize(
      request.skills.flatMap(({ files }) => files),
      fail,
    );
    const { label, git, dryRun, importId, targets, withReports } = request;
    return upload(uploads, {
      packages: request.skills.map((skill) => packageOfSent(skill)),
      findings: [],
      provenance: { source: "upload", label, by: caller, git },
      dryRun,
      importId,
      targets,
      withReports,
    });
  });

  service.handle(unpackSkills, async (request, context) => {
    const { caller, fail } = context;
    if (!request.dryRun) requireAdmin(context, admins);
    const { label, git, dryRun, importId, targets, withReports } = request;
    const { files, findings } = await unpackSent(request, fail);
    return upload(uploads, {
      packages: packagesIn(files),
      findings,
      provenance: { source: "archive", label, by: caller, git },
      dryRun,
      importId,
      targets,
      withReports,
    });
  });
}

function serveChanges(
  service: Pick<Service, "handle">,
  { change, admins }: StoreHandlerParts,
): void {
  service.handle(removeSkill, async ({ name }, context) => {
    requireAdmin(context, admins);
    const { fail } = context;
    const result = await removeImported(change, name);
    switch (result.kind) {
      case "removed":
        return { name, version: result.version };
      case "managed-by-files":
        throw fail.managed_by_files(say.managedByFiles(name, result.file), {
          name,
          file: result.file,
        });
      case "unknown":
        throw fail.unknown_skill(say.unknown(name), { name, known: await someNames(change) });
      default:
        return result satisfies never;
    }
  });

  service.handle(rollbackSkill, async ({ name, version }, context) => {
    requireAdmin(context, admins);
    const { fail } = context;
    const result = await rollback(change, name, version);
    switch (result.kind) {
      case "rolled-back":
        return { name, version: result.version, before: result.before };
      case "managed-by-files":
        throw fail.managed_by_files(say.managedByFiles(name, result.file), {
          name,
          file: result.file,
        });
      case "unknown":
        throw fail.unknown_skill(say.unknown(name), { name, known: await someNames(change) });
      case "unknown-version":
        throw fail.unknown_version(say.noVersion(name, version ?? ""), {
          name,
          version: version ?? "",
        });
      case "blocked":
        throw fail.version_blocked(say.blocked(name, result.version), {
          name,
          version: result.version,
        });
      default:
        return result satisfies never;
    }
  });

  service.handle(trustSkill, async (request, context) => {
    requireAdmin(context, admins);
    const { caller, fail } = context;
    const { name, version } = request;
    const result = await trust(change, { ...request, by: caller });
    switch (result.kind) {
      case "trusted":
        return { name, version, was: result.was };
      case "not-withheld":
        throw fail.not_withheld(
          `no ${request.kind} ${name} with version ${version} is withheld; see: yard skills withheld`,
          { name, version },
        );
      case "reason-missing":
        throw fail.reason_missing(refusals(request.kind).needsReason(name, version), {
          name,
          version,
        });
      default:
        return result satisfies never;
    }
  });
}

function serveVersions(service: Pick<Service, "handle">, change: ChangeParts): void {
  const { store, versions } = change;

  service.handle(listWithheld, async () => ({
    withheld: (await store.listWithheld()).map(({ kind, reason, entry }) => ({
      kind,
      name: entry.summary.name,
      description: entry.summary.description,
      version: versionOfEntry(entry),
      reason,
      root: entry.root,
      file: entry.file,
    })),
  }));

  service.handle(listVersions, async ({ name }, { fail }) => {
    const [all, catalogue] = await Promise.all([versions.list(name), store.loadSkills([name])]);
    if (all.length === 0) {
      throw fail.unknown_skill(say.unknown(name), { name, known: await someNames(change) });
    }
    const [listed] = catalogue.skills;
    const waiting = catalogue.withheld.find(
      ({ kind, entry }) => kind === "skill" && entry.summary.name === name,
    );
    return {
      current: listed === undefined ? null : versionOfEntry(listed),
      withheld:
        waiting === undefined
          ? null
          : { version: versionOfEntry(waiting.entry), reason: waiting.reason },
      versions: all,
    };
  });

  service.handle(diffSkill, async ({ name, from, to }, { fail }) => {
    const all = await versions.list(name);
    if (all.length === 0) {
      throw fail.unknown_skill(say.unknown(name), { name, known: await someNames(change) });
    }
    const pair = pairOf(all, { from, to }, ({ version }) => version);
    if ("missing" in pair) {
      const version = pair.missing;
      throw fail.unknown_version(say.noVersion(name, version), { name, version });
    }
    const { older, newer } = pair;
    const [left, right] = await Promise.all([side(change, name, older), side(change, name, newer)]);
    return { from: older.version, to: newer.version, ...diffVersions(left, right) };
  });

  service.handle(readSkillFile, async ({ name, version, path, offset, limit }, { fail }) => {
    const stored = await store.readSkill(name, version);
    if (stored === null) {
      throw fail.unknown_skill(say.unknown(name), { name, known: await someNames(change) });
    }
    const { version: id = stored.skill.digest } = stored.skill;
    const record = await versions.record(name, id);
    const facts = record?.files.find((file) => file.path === path);
    const bytes = facts === undefined ? null : await versions.file(name, id, path);
    if (facts === undefined || bytes === null) {
      const known = (record?.files ?? []).slice(0, MAX_KNOWN).map((file) => file.path);
      throw fail.unknown_file(`${name} has no file ${JSON.stringify(path)}`, { path, known });
    }
    const end = Math.min(offset + limit, bytes.length);
    return {
      version: id,
      ...facts,
      base64: Buffer.from(bytes.subarray(offset, end)).toString("base64"),
      nextOffset: end < bytes.length ? end : null,
    };
  });
}

async function side(
  { store, versions }: ChangeParts,
  name: string,
  record: SkillVersion,
): Promise<VersionSide> {
  const { version, files, digest } = record;
  const stored = await store.readSkill(name, version);
  const own = files.find((file) => file.digest === digest)?.path ?? "SKILL.md";
  const bytes = await versions.file(name, version, own);
  return {
    record,
    text: bytes === null ? (stored?.skill.body ?? "") : Buffer.from(bytes).toString(),
    allowedTools: stored?.skill.allowedTools ?? null,
    report: await versions.report(name, version),
  };
}

function packageOfSent({ directory, files }: SentSkill): SkillPackage {
  const shown = directory.replaceAll("\\", "/").replace(/\/+$/, "") || ".";
  return packageOf(
    shown,
    files.map((file) => [file.path, bytesOfSent(file)]),
  );
}

async function someNames({ store }: ChangeParts): Promise<string[]> {
  return knownNames(await store.listSkills());
}
