import type { Service } from "@switchyard/bus/serve";
import { checkAgents } from "@switchyard/contracts/skill-importer/agents";
import {
  matchSkills,
  skillCatalogue,
  skillManifests,
} from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import { refusals } from "../catalogue/refusals.ts";
import { checkAgentFiles } from "@switchyard/skills/imports/check-agents";
import { createIndexCache } from "../views/match-skills.ts";
import { budgetOf, skillCatalogue as catalogueOf } from "../views/skill-budget.ts";
import type { Analyzer } from "@switchyard/skills/analysis/analyze";
import { registeredSkill } from "@switchyard/skills/manifest/skill-manifest";
import type { Machine } from "@switchyard/skills/skill/check-dependencies";
import { dependenciesOf } from "@switchyard/skills/skill/dependencies-of";
import type { CatalogueStore } from "../store/catalogue-store.ts";

/** Serves requests that are computed from the catalogue: the list for a prompt, matches, manifests, checks of agent files. */
export function serveCatalogueViews(
  service: Pick<Service, "handle">,
  parts: {
    readonly store: CatalogueStore;
    readonly analyzer: Analyzer;
    readonly machine: Machine;
  },
): void {
  const { store, analyzer, machine } = parts;
  const indexOf = createIndexCache();
  const summaries = async () => (await store.list("skill")).map(({ summary }) => summary);

  service.handle(skillCatalogue, async ({ about, without = [], ...limits }) => {
    const keepForMs = await store.promise();
    const skills = (await summaries()).filter(({ name }) => !without.includes(name));
    const budgetTokens = budgetOf(limits);
    const relevance =
      about === undefined
        ? []
        : indexOf(skills)
            .match(about)
            .map(({ skill }) => skill.name);
    const catalogue = catalogueOf({ skills, budgetTokens, relevance });
    // The choice of the skills that were cut depends on the request's work, so such an answer may not be cached for other runs.
    const isCut = catalogue.dropped.length > 0 || catalogue.listed.some((skill) => skill.shortened);
    return keepForMs === null || isCut ? catalogue : { ...catalogue, keepForMs };
  });

  service.handle(matchSkills, async ({ text, limit, modelInvocableOnly }) => {
    const skills = await summaries();
    const isSearched = (skill: SkillSummary) => skill.modelInvocable || !modelInvocableOnly;
    const matches = indexOf(skills)
      .match(text)
      .filter(({ skill }) => isSearched(skill));
    return {
      matches: matches
        .slice(0, limit)
        .map(({ skill: { name, description, digest }, score, terms }) => ({
          name,
          description,
          digest,
          score,
          terms,
        })),
      searched: skills.filter(isSearched).length,
    };
  });

  service.handle(skillManifests, async ({ name, source, offset, limit }) => {
    const skills = await summaries();
    const wanted = skills.filter(
      (skill) =>
        (name === undefined || skill.name === name) &&
        (source === undefined || (skill.source ?? "agent-skills") === source),
    );
    if (name !== undefined && wanted.length === 0) {
      throw refusals("skill").unknown(
        name,
        skills.map((summary) => ({ summary })),
      );
    }
    const page = wanted.slice(offset, offset + limit);
    const registered = await Promise.all(
      page.map(async (summary) => {
        const stored = await store.read("skill", summary.name, summary.version ?? summary.digest);
        if (stored === null) return null;
        const dependencies = await dependenciesOf(stored.metadata, machine);
        return registeredSkill({ skill: stored.skill, dependencies });
      }),
    );
    const end = offset + page.length;
    return {
      skills: registered.filter((skill) => skill !== null),
      total: wanted.length,
      nextOffset: end < wanted.length ? end : null,
    };
  });

  service.handle(checkAgents, async ({ files }) => {
    const known = new Set((await summaries()).map(({ name }) => name));
    return { files: await checkAgentFiles(files, { knownSkills: known, analyzer }) };
  });
}
