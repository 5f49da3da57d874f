import type { Service } from "@switchyard/bus/serve";
import { getAgent, listAgents } from "@switchyard/contracts/skill-importer/agents";
import type { Fail } from "@switchyard/contracts/errors";
import {
  checkSkills,
  getSkill,
  importSkills,
  listSkills,
  renderSkill,
  type Diagnostic,
  type Skill,
} from "@switchyard/contracts/skill-importer/skills";
import { withGrantedRoles, type GrantedRole } from "@switchyard/skills/agents/granted-roles";
import { refusals } from "../catalogue/refusals.ts";
import { reviewVersion } from "../catalogue/review-version.ts";
import { checkSkills as check } from "../imports/check-skills.ts";
import type { Importer } from "../imports/importer.ts";
import type { Analyzer } from "@switchyard/skills/analysis/analyze";
import { extractVariables, renderSkill as render } from "@switchyard/skills/render/render";
import { allowedPatterns, forbiddenPatterns } from "@switchyard/skills/skill/client-tools";
import type { Machine } from "@switchyard/skills/skill/check-dependencies";
import { dependenciesOf } from "@switchyard/skills/skill/dependencies-of";
import { LEGACY_FILE, LEGACY_PROMPT } from "@switchyard/skills/skill/legacy-skill";
import { locate, type Located, type Root } from "@switchyard/skills/source/allowed-roots";
import { isSkillFile, SKILL_FILE_NAMES } from "@switchyard/skills/source/package";
import type { CatalogueStore } from "../store/catalogue-store.ts";
import type { VersionStore } from "../store/version-store.ts";
import { checkAdmin } from "./check-admin.ts";

export interface HandlerParts {
  readonly store: CatalogueStore;
  readonly importer: Importer;
  readonly roots: readonly Root[];
  /** NATS users that may change the catalogue. */
  readonly admins: readonly string[];
  /** Bytes of one skill that go into a prompt. */
  readonly maxPromptBytes: number;
  readonly versions: Pick<VersionStore, "record" | "report" | "file">;
  readonly analyzer: Analyzer;
  readonly machine: Machine;
  /** The roles that agents sent by clients may have. */
  readonly grantedRoles: readonly GrantedRole[];
  /** The errors of agent files that cannot be used now. */
  readonly unusableAgents: () => readonly Diagnostic[];
}

const MAX_UNUSABLE = 100;

export function serveCatalogue(service: Pick<Service, "handle">, parts: HandlerParts): void {
  const { store, importer, roots, admins, maxPromptBytes, versions, analyzer } = parts;
  service.handle(importSkills, async (request, context) => {
    const { fail, caller } = context;
    if (!request.dryRun) checkAdmin(admins, context);
    const located = await locate(roots, request.directory);
    if (located.kind !== "inside") throw notLocated(located, { fail, roots });
    const { skills, agents, diagnostics } = await importer.importDirectory(located, {
      by: caller,
      dryRun: request.dryRun,
    });
    return { skills, agents, diagnostics };
  });

  service.handle(checkSkills, async ({ directory, ...page }, { fail }) => {
    const located = await locate(roots, directory);
    if (located.kind !== "inside") throw notLocated(located, { fail, roots });
    return check(located, { ...page, analyzer });
  });

  service.handle(listSkills, async () => {
    const skills = await store.list("skill");
    return { skills: skills.map((entry) => entry.summary) };
  });

  service.handle(getSkill, async ({ name, version, digest = version }) => {
    const stored = await store.read("skill", name, digest);
    if (stored === null) throw refusals("skill").unknown(name, await store.list("skill"), digest);
    const { skill, conformance, metadata } = stored;
    return {
      skill,
      ...(version !== undefined && {
        review: await reviewVersion(parts, { kind: "skill", name, version }),
      }),
      variables: extractVariables(skill.body, skill.arguments, skill),
      dependencies: await dependenciesOf(metadata, parts.machine),
      ...(conformance === undefined ? {} : { conformance }),
    };
  });

  service.handle(renderSkill, async (request) => {
    const { name, digest } = request;
    const stored = await store.read("skill", name, digest);
    // A listed version is usable; one that is requested by its digest may wait for trust.
    const isUsable =
      stored !== null &&
      (digest === undefined ||
        !(await store.isWithheld("skill", name, stored.skill.version ?? stored.skill.digest)));
    if (!isUsable) throw refusals("skill").unknown(name, await store.list("skill"), digest);
    const { skill } = stored;
    const { text, warnings } = render({
      name: skill.name,
      body: skill.body,
      argumentNames: skill.arguments,
      needsBraces: skill.needsBraces === true,
      arguments: request.arguments,
      sessionId: request.sessionId ?? null,
      baseDirectory: stored.directory,
      files: await filesBeside(skill, versions),
      maxBytes: maxPromptBytes,
    });
    const { allowedTools, plan, record } = skill;
    const disallowedTools = forbiddenPatterns(record?.disallowedTools ?? []);
    return {
      name: skill.name,
      digest: skill.version ?? skill.digest,
      text: request.raw === true ? skill.body : text,
      allowedTools: allowedTools === null ? null : allowedPatterns(allowedTools),
      ...(disallowedTools.length === 0 ? {} : { disallowedTools }),
      plan,
      warnings: [...warnings],
    };
  });

  serveAgents(service, parts);
}

function serveAgents(
  service: Pick<Service, "handle">,
  { store, versions, grantedRoles, unusableAgents }: HandlerParts,
): void {
  service.handle(listAgents, async () => {
    const agents = (await store.list("agent")).map((entry) => entry.summary);
    const unusable = unusableAgents().slice(0, MAX_UNUSABLE);
    return { agents, ...(unusable.length > 0 && { unusable }) };
  });

  service.handle(getAgent, async ({ name, version, digest = version }) => {
    // A version by its digest never changes, and needs no promise.
    const keepForMs = digest === undefined ? await store.promise() : null;
    const agent = await store.read("agent", name, digest);
    if (agent === null) throw refusals("agent").unknown(name, await store.list("agent"), digest);
    const record =
      agent.source === "imported" ? await versions.record("agent", name, agent.digest) : null;
    return {
      agent: withGrantedRoles(agent, record?.provenance ?? null, grantedRoles),
      ...(version !== undefined && {
        review: await reviewVersion({ store, versions }, { kind: "agent", name, version }),
      }),
      ...(record === null ? {} : { provenance: record.provenance }),
      ...(keepForMs === null ? {} : { keepForMs }),
    };
  });
}

/** The files of a version without the one that makes it a skill. */
async function filesBeside(
  { name, version }: Skill,
  versions: HandlerParts["versions"],
): Promise<string[]> {
  const record = version === undefined ? null : await versions.record("skill", name, version);
  const paths = (record?.files ?? []).map(({ path }) => path);
  const own: readonly string[] = paths.some((path) => isSkillFile(path))
    ? SKILL_FILE_NAMES
    : [LEGACY_FILE, LEGACY_PROMPT];
  return paths.filter((path) => !own.includes(path));
}

/** The refusal of a directory that may not be read, or is none. */
function notLocated(
  located: Exclude<Located, { kind: "inside" }>,
  { fail, roots }: { fail: Fail<(typeof checkSkills)["errors"]>; roots: readonly Root[] },
): Error {
  const { kind, directory } = located;
  if (kind === "missing") {
    return fail.directory_missing(`${directory} is not a directory`, { directory });
  }
  return fail.directory_not_allowed(
    `${directory} is in none of the importer's roots; add its root to YARD_SKILL_ROOTS`,
    { directory, roots: roots.map((root) => root.shown) },
  );
}
