import type { Service } from "@switchyard/bus/serve";
import { agentPaths } from "@switchyard/contracts/skill-importer/agent-paths";
import * as agents from "@switchyard/contracts/skill-importer/agent-store";
import * as skills from "@switchyard/contracts/skill-importer/skill-store";
import { removeImported, rollback, trust } from "../catalogue/change-version.ts";
import { diffVersions } from "../catalogue/diff-versions.ts";
import { refusals } from "../catalogue/refusals.ts";
import { importAgents, importSkills, type SendParts } from "../imports/import-sent.ts";
import { agentPackage, packagesIn, shownFile } from "@switchyard/skills/source/package";
import { bytesOfSent, sentPackage } from "@switchyard/skills/source/sent-package";
import { isCalled, versionOfEntry, type Kind } from "@switchyard/skills/catalogue/definition";
import { checkAdmin } from "./check-admin.ts";
import { requireSize, unpackSent } from "./sent-files.ts";

export interface StoreHandlerParts extends SendParts {
  /** NATS users that may change the catalogue. */
  readonly admins: readonly string[];
}

const MAX_KNOWN = 50;

/** Serves the imports of skills and agents by clients, and all requests about versions. */
export function serveStore(service: Pick<Service, "handle">, parts: StoreHandlerParts): void {
  serveSkillUploads(service, parts);
  serveAgentUploads(service, parts);
  serveChanges(service, parts);
  serveVersions(service, parts);
  serveDiffs(service, parts);
  serveFiles(service, parts);
}

function serveSkillUploads(service: Pick<Service, "handle">, parts: StoreHandlerParts): void {
  service.handle(skills.uploadSkills, async (request, context) => {
    if (!request.dryRun) checkAdmin(parts.admins, context);
    requireSize(
      request.skills.flatMap(({ files }) => files),
      context.fail,
    );
    const packages = request.skills.map(({ directory, files }) => sentPackage(directory, files));
    const from = { source: "upload", by: context.caller, findings: [] } as const;
    return importSkills(parts, { ...request, ...from, packages });
  });

  service.handle(skills.unpackSkills, async (request, context) => {
    if (!request.dryRun) checkAdmin(parts.admins, context);
    const { files, findings } = await unpackSent(request, context);
    const { label, only } = request;
    const found = packagesIn(files);
    const missing = only?.find((file) => !found.some((one) => shownFile(one) === file));
    if (missing !== undefined)
      throw context.fail.archive_refused(`${label}: it has no skill at ${missing}`, {
        reason: "no_such_skill",
        entry: missing,
      });
    const packages = found.filter((one) => only?.includes(shownFile(one)) ?? true);
    const from = { source: "archive", by: context.caller, findings } as const;
    return importSkills(parts, { ...request, ...from, packages });
  });
}

function serveAgentUploads(service: Pick<Service, "handle">, parts: StoreHandlerParts): void {
  service.handle(agents.uploadAgents, async (request, context) => {
    if (!request.dryRun) checkAdmin(parts.admins, context);
    requireSize(request.files, context.fail);
    const packages = request.files.map((file) => agentPackage(file.path, bytesOfSent(file)));
    const from = { source: "upload", by: context.caller, findings: [] } as const;
    return importAgents(parts, { ...request, ...from, packages });
  });

  service.handle(agents.unpackAgents, async (request, context) => {
    if (!request.dryRun) checkAdmin(parts.admins, context);
    const { files, findings } = await unpackSent(request, context);
    const packages = agentPaths([...files.keys()]).flatMap((path) => {
      const bytes = files.get(path);
      return bytes === undefined ? [] : [agentPackage(path, bytes)];
    });
    const from = { source: "archive", by: context.caller, findings } as const;
    return importAgents(parts, { ...request, ...from, packages });
  });
}

function serveChanges(service: Pick<Service, "handle">, parts: StoreHandlerParts): void {
  service.handle(skills.removeSkill, async ({ name, ifVersion }, context) => {
    checkAdmin(parts.admins, context);
    const { version } = await removeImported(parts, "skill", { name, ifVersion });
    return { name, version };
  });

  service.handle(agents.removeAgent, async ({ name, ifVersion }, context) => {
    checkAdmin(parts.admins, context);
    const { version: digest, current } = await removeImported(parts, "agent", { name, ifVersion });
    return { name, digest, current };
  });

  service.handle(skills.rollbackSkill, async ({ version: wanted, ...request }, context) => {
    checkAdmin(parts.admins, context);
    return { name: request.name, ...(await rollback(parts, "skill", { ...request, wanted })) };
  });

  service.handle(agents.rollbackAgent, async ({ digest: wanted, ...request }, context) => {
    checkAdmin(parts.admins, context);
    const { version: digest, before } = await rollback(parts, "agent", { ...request, wanted });
    return { name: request.name, digest, before };
  });

  service.handle(skills.trustSkill, async (request, context) => {
    const by = checkAdmin(parts.admins, context);
    const { name, version } = request;
    return { name, version, ...(await trust(parts, { ...request, by })) };
  });
}

function serveVersions(service: Pick<Service, "handle">, { store, versions }: SendParts): void {
  const versionsOf = async (kind: Kind, name: string) => {
    const [all, current] = await Promise.all([
      versions.list(kind, name),
      store.load({ kind, names: [name] }),
    ]);
    const [listed] = current[kind].listed;
    if (all.length === 0 && listed === undefined)
      throw refusals(kind).unknown(name, await store.list(kind));
    const waiting = current.withheld.find((item) => isCalled(item, { kind, name }));
    return {
      current: listed === undefined ? null : versionOfEntry(listed),
      waiting: waiting && { version: versionOfEntry(waiting.entry), reason: waiting.reason },
      versions: all,
    };
  };

  service.handle(skills.listVersions, async ({ name }) => {
    const { waiting, ...reply } = await versionsOf("skill", name);
    return { ...reply, withheld: waiting ?? null };
  });

  service.handle(agents.listAgentVersions, async ({ name }) => {
    const { current, waiting, versions: all } = await versionsOf("agent", name);
    return {
      current,
      withheld: waiting === undefined ? null : { digest: waiting.version, reason: waiting.reason },
      versions: all.map(({ version: _version, files: _files, ...record }) => record),
    };
  });

  service.handle(skills.listWithheld, async () => ({
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
}

function serveDiffs(service: Pick<Service, "handle">, parts: SendParts): void {
  const diff = async (
    kind: Kind,
    { name, from, to }: { name: string; from?: string | undefined; to?: string | undefined },
  ) => {
    const all = await parts.versions.list(kind, name);
    if (all.length === 0) throw refusals(kind).unknown(name, await parts.store.list(kind));
    // Defaults to the newest version and the one before it.
    const newer = to === undefined ? all[0] : all.find(({ version }) => version === to);
    if (newer === undefined) throw refusals(kind).unknownVersion(name, to);
    const before = all[all.indexOf(newer) + 1];
    const older = from === undefined ? before : all.find(({ version }) => version === from);
    if (older === undefined) throw refusals(kind).unknownVersion(name, from);
    const changed = await diffVersions(parts, { kind, name }, [older, newer]);
    if ("gone" in changed) throw refusals(kind).unknownVersion(name, changed.gone);
    return { from: older.version, to: newer.version, ...changed };
  };

  service.handle(skills.diffSkill, (request) => diff("skill", request));

  service.handle(agents.diffAgent, async (request) => {
    const { files: _, ...reply } = await diff("agent", request);
    return reply;
  });
}

function serveFiles(service: Pick<Service, "handle">, { store, versions }: SendParts): void {
  service.handle(skills.readSkillFile, async (request, { fail }) => {
    const { name, version, path, offset, limit } = request;
    const stored = await store.read("skill", name, version);
    if (stored === null) throw refusals("skill").unknown(name, await store.list("skill"));
    const { version: id = stored.skill.digest } = stored.skill;
    const record = await versions.record("skill", name, id);
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
