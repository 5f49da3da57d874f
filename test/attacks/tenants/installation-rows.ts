import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import {
  removeAgent,
  rollbackAgent,
  unpackAgents,
  uploadAgents,
} from "@switchyard/contracts/skill-importer/agent-store";
import { listStops, resumeCalls, stopCalls } from "@switchyard/contracts/policy/policy-budgets";
import {
  activatePolicy,
  readPolicyTexts,
  rollbackPolicy,
} from "@switchyard/contracts/policy/policy-bundles";
import {
  removeSkill,
  rollbackSkill,
  trustSkill,
  unpackSkills,
  uploadSkills,
} from "@switchyard/contracts/skill-importer/skill-store";
import { importSkills } from "@switchyard/contracts/skill-importer/skills";
import { refused, type Attack, type Rows } from "./attack.ts";
import { TEAM_A } from "./reachable.ts";
import type { World } from "./world.ts";

const DEFINITIONS =
  "agents and skills belong to the installation: every user that may start runs may read them";
const RULES = "the rules belong to the installation, and everybody may ask what they say";
const SERVERS = "servers belong to the installation; the policy decides who gets what of them";

function forAdmins(title: string, ask: (world: World) => Promise<unknown>): Attack[] {
  return [{ title, run: (world) => refused(ask(world), "forbidden_admin") }];
}

const user = { kind: "user", name: TEAM_A } as const;
const label = "x";
const archive = { label, format: "zip", base64: "" } as const;

/** Objects that belong to the installation: teams read them, and only its admins change them. */
export const installationRows: Rows = {
  "models.list": "the models belong to the installation",
  "policy.keys": "public keys are for everybody",
  "policy.explain": RULES,
  "policy.validate": "it keeps nothing; that it has places of its own is tested in services/policy",
  "policy.versions": RULES,
  "policy.rules": RULES,
  "policy.who-can": RULES,
  [listStops.name]: [
    {
      title: "of team-a and its runs",
      run: async ({ cli, teamA, teamB }) => {
        const scopes = [
          { kind: "run", name: `${TEAM_A}~stopped` },
          { kind: "user", name: "nobody" },
          { kind: "server", name: "no-server" },
        ] as const;
        for (const scope of scopes) await call(cli, stopCalls, { scope, reason: "secret" });
        const reported = async (bus: Bus) =>
          (await call(bus, listStops, {})).stops.map(({ scope }) => scope.kind).toSorted();
        assert.deepEqual(await reported(cli), ["run", "server", "user"]);
        assert.deepEqual(await reported(teamA), ["run", "server"]);
        assert.deepEqual(await reported(teamB), ["server"]);
        for (const scope of scopes) await call(cli, resumeCalls, { scope });
      },
    },
  ],
  [readPolicyTexts.name]: forAdmins("the files of the rules", ({ teamB }) =>
    call(teamB, readPolicyTexts, {}),
  ),
  [activatePolicy.name]: forAdmins("rules of its own", ({ teamB }) =>
    call(teamB, activatePolicy, { version: 1 }),
  ),
  [rollbackPolicy.name]: forAdmins("to the rules before", ({ teamB }) =>
    call(teamB, rollbackPolicy, {}),
  ),
  [stopCalls.name]: forAdmins("team-a's calls", ({ teamB }) =>
    call(teamB, stopCalls, { scope: user, reason: "x" }),
  ),
  [resumeCalls.name]: forAdmins("team-a's calls that were stopped", ({ teamB }) =>
    call(teamB, resumeCalls, { scope: user }),
  ),
  "agents.list": DEFINITIONS,
  "agents.get": DEFINITIONS,
  "agents.check": DEFINITIONS,
  "agents.diff": DEFINITIONS,
  "agents.versions": DEFINITIONS,
  [uploadAgents.name]: forAdmins("in place of one that team-a uses", ({ teamB }) =>
    call(teamB, uploadAgents, { label, files: [{ path: "agents/echo.yaml", text: "x" }] }),
  ),
  [unpackAgents.name]: forAdmins("in place of those that team-a uses", ({ teamB }) =>
    call(teamB, unpackAgents, archive),
  ),
  [rollbackAgent.name]: forAdmins("that team-a uses", ({ teamB }) =>
    call(teamB, rollbackAgent, { name: "echo" }),
  ),
  [removeAgent.name]: forAdmins("that team-a uses", ({ teamB }) =>
    call(teamB, removeAgent, { name: "echo" }),
  ),
  "skills.list": DEFINITIONS,
  "skills.get": DEFINITIONS,
  "skills.check": DEFINITIONS,
  "skills.render": DEFINITIONS,
  "skills.diff": DEFINITIONS,
  "skills.versions": DEFINITIONS,
  "skills.withheld": DEFINITIONS,
  "skills.file": DEFINITIONS,
  "skills.match": DEFINITIONS,
  "skills.catalogue": DEFINITIONS,
  "skills.manifests": DEFINITIONS,
  [importSkills.name]: [
    {
      title: "from the importer's disk",
      run: ({ teamB }) => refused(call(teamB, importSkills, { directory: "." }), "forbidden_admin"),
    },
  ],
  [uploadSkills.name]: forAdmins("in place of one that team-a uses", ({ teamB }) => {
    const files = [{ path: "SKILL.md", text: "x" }];
    return call(teamB, uploadSkills, { label, skills: [{ directory: "a", files }] });
  }),
  [unpackSkills.name]: forAdmins("in place of those that team-a uses", ({ teamB }) =>
    call(teamB, unpackSkills, archive),
  ),
  [rollbackSkill.name]: forAdmins("that team-a uses", ({ teamB }) =>
    call(teamB, rollbackSkill, { name: "a" }),
  ),
  [removeSkill.name]: forAdmins("that team-a uses", ({ teamB }) =>
    call(teamB, removeSkill, { name: "a" }),
  ),
  [trustSkill.name]: forAdmins("that is withheld from everybody", ({ teamB }) =>
    call(teamB, trustSkill, { name: "a", version: `sha256:${"0".repeat(64)}` }),
  ),
  "mcp.ensure": SERVERS,
  "mcp.prompts": SERVERS,
  "mcp.templates": SERVERS,
  "mcp.resources": SERVERS,
  "mcp.unsubscribe": "a subscription is found by its caller, so no client names another one's",
};
