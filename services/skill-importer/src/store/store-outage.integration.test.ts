import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import {
  diffAgent,
  listAgentVersions,
  removeAgent,
  rollbackAgent,
  uploadAgents,
} from "@switchyard/contracts/skill-importer/agent-store";
import { checkAgents, getAgent, listAgents } from "@switchyard/contracts/skill-importer/agents";
import { isRetryable, ServiceError } from "@switchyard/contracts/errors";
import {
  matchSkills,
  skillCatalogue,
  skillManifests,
} from "@switchyard/contracts/skill-importer/skill-catalogue";
import {
  diffSkill,
  listVersions,
  listWithheld,
  readSkillFile,
  removeSkill,
  rollbackSkill,
  trustSkill,
  uploadSkills,
} from "@switchyard/contracts/skill-importer/skill-store";
import {
  getSkill,
  importSkills,
  listSkills,
  renderSkill,
} from "@switchyard/contracts/skill-importer/skills";
import { importerWorld } from "../../test/importer-world.ts";

const world = await importerWorld();
const { cli } = world;
const NAME = { name: "greet" };
const DIGEST = `sha256:${"0".repeat(64)}`;
const files = [{ path: "SKILL.md", text: "Hello." }];

/** Every call that needs the store, as it is made while Redis is up. */
const CALLS: Record<string, () => Promise<unknown>> = {
  "skills.list": () => call(cli, listSkills, {}),
  "skills.get": () => call(cli, getSkill, NAME),
  "skills.render": () => call(cli, renderSkill, NAME),
  "skills.import": () => call(cli, importSkills, { directory: "." }),
  "skills.catalogue": () => call(cli, skillCatalogue, {}),
  "skills.match": () => call(cli, matchSkills, { text: "hello" }),
  "skills.manifests": () => call(cli, skillManifests, {}),
  "skills.upload": () =>
    call(cli, uploadSkills, { label: "t", skills: [{ directory: "greet", files }] }),
  "skills.versions": () => call(cli, listVersions, NAME),
  "skills.diff": () => call(cli, diffSkill, NAME),
  "skills.rollback": () => call(cli, rollbackSkill, NAME),
  "skills.remove": () => call(cli, removeSkill, NAME),
  "skills.file": () => call(cli, readSkillFile, { ...NAME, path: "a" }),
  "skills.withheld": () => call(cli, listWithheld, {}),
  "skills.trust": () => call(cli, trustSkill, { ...NAME, version: DIGEST }),
  "agents.list": () => call(cli, listAgents, {}),
  "agents.get": () => call(cli, getAgent, NAME),
  "agents.check": () => call(cli, checkAgents, { files: [{ file: "a.yaml", text: "" }] }),
  "agents.upload": () =>
    call(cli, uploadAgents, { label: "t", files: [{ path: "a.yaml", text: "description: a" }] }),
  "agents.versions": () => call(cli, listAgentVersions, NAME),
  "agents.diff": () => call(cli, diffAgent, NAME),
  "agents.rollback": () => call(cli, rollbackAgent, NAME),
  "agents.remove": () => call(cli, removeAgent, NAME),
};

test("every call reports that Redis is away, and that it may be retried", async () => {
  const importer = await world.startProcess();
  await call(cli, listSkills, {});
  await world.redis.stop();
  for (const [name, make] of Object.entries(CALLS)) {
    await assert.rejects(make(), (error) => {
      assert.ok(error instanceof ServiceError, name);
      assert.equal(error.code, "store_unavailable", `${name}: ${error.message}`);
      assert.ok(isRetryable(error), name);
      assert.match(error.message, /try again later: Redis cannot be reached/);
      return true;
    });
  }
  const faults = importer.records.filter(({ msg }) => msg === "handler fault");
  assert.deepEqual(faults, [], "an outage is no fault of the importer");
  await importer.kill();
});
