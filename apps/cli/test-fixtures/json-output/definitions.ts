import * as agentStore from "@switchyard/contracts/skill-importer/agent-store";
import * as agents from "@switchyard/contracts/skill-importer/agents";
import { AgentName } from "@switchyard/contracts/ids";
import * as catalogue from "@switchyard/contracts/skill-importer/skill-catalogue";
import * as store from "@switchyard/contracts/skill-importer/skill-store";
import * as skills from "@switchyard/contracts/skill-importer/skills";
import { z } from "zod";
import { toolOverview } from "./mcp.ts";
import type { JsonOutputs } from "./output.ts";
import { runEvent, startedRun } from "./runs.ts";

const { strictObject: strict, array, int, literal, union } = z;
const count = int().nonnegative();
const schemaVersion = literal(1);

const importedAgent = union([
  agentStore.ImportedAgent.extend({ schemaVersion, type: literal("agent") }),
  strict({ schemaVersion, type: literal("summary"), counts: agentStore.AgentImportCounts }),
]);
const importedSkill = union([
  store.ImportedSkill.extend({ schemaVersion, type: literal("skill") }),
  strict({ schemaVersion, type: literal("summary"), counts: store.ImportCounts }),
]);

export const DEFINITION_OUTPUTS: JsonOutputs = {
  "agents list": { document: agents.listAgents.reply },
  "agents show": { document: agents.getAgent.reply },
  "agents tools": { document: strict({ ...toolOverview, agent: AgentName }) },
  "agents use": { document: strict({ agent: AgentName }) },
  "agents validate": { document: agents.checkAgents.reply.extend({ failed: count }) },
  "agents import": { line: importedAgent },
  "agents scan": { line: importedAgent },
  "agents remove": { document: agentStore.removeAgent.reply },
  "agents versions": { document: agentStore.listAgentVersions.reply },
  "agents rollback": { document: agentStore.rollbackAgent.reply },
  "agents diff": { document: agentStore.diffAgent.reply },
  "skills list": { document: union([skills.listSkills.reply, catalogue.skillCatalogue.reply]) },
  "skills show": {
    document: union([skills.getSkill.reply, store.readSkillFile.reply.omit({ nextOffset: true })]),
  },
  "skills check": {
    document: strict({
      counts: strict({ found: count, loaded: count, skipped: count, repaired: count }),
      files: array(skills.CheckedSkill),
      diagnostics: array(skills.Diagnostic),
    }),
  },
  "skills render": { document: skills.renderSkill.reply },
  "skills match": { document: catalogue.matchSkills.reply },
  "skills manifest": { document: catalogue.skillManifests.reply.pick({ skills: true }) },
  "skills run": { line: runEvent, document: startedRun },
  "skills import": { line: importedSkill },
  "skills scan": { line: importedSkill },
  "skills validate": { line: importedSkill },
  "skills versions": { document: store.listVersions.reply },
  "skills rollback": { document: store.rollbackSkill.reply },
  "skills remove": { document: store.removeSkill.reply },
  "skills diff": { document: store.diffSkill.reply },
  "skills withheld": { document: store.listWithheld.reply },
  "skills trust": { document: store.trustSkill.reply },
};
