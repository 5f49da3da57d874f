import assert from "node:assert/strict";
import { test } from "node:test";
import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import { builtInAgents } from "../catalogue/built-in-agents.ts";
import { GrantedRoles, withGrantedRoles } from "./granted-roles.ts";

const [builtIn = assert.fail()] = builtInAgents;
const agent = { ...builtIn, roles: ["planner", "reader", "admin"] };
const sent = { ...agent, source: "imported" as const };
const from = (by: string, source: Provenance["source"] = "upload"): Provenance => ({
  source,
  label: "x",
  by,
  at: "2026-01-01T00:00:00.000Z",
  git: null,
});
const granted = GrantedRoles.parse("team-a:planner, *:read*");

test("an agent that a client sends has only the roles that its sender may grant", () => {
  const rolesOf = (provenance: Provenance | null, list = granted) =>
    withGrantedRoles(sent, provenance, list).roles;
  assert.deepEqual(rolesOf(from("team-a")), ["planner", "reader"]);
  assert.deepEqual(rolesOf(from("team-b", "archive")), ["reader"]);
  assert.deepEqual(rolesOf(from("team-a"), []), [], "without the setting none");
  assert.deepEqual(rolesOf(null), [], "nor when its sender is unknown");
});

test("an agent of a directory that the operator mounted has the roles that it names", () => {
  assert.deepEqual(withGrantedRoles({ ...agent, source: "project" }, null, []), {
    ...agent,
    source: "project",
  });
  assert.deepEqual(withGrantedRoles(sent, from("cli", "root"), []).roles, agent.roles);
});

test("a setting that grants nothing is refused with the entry that is wrong", () => {
  for (const wrong of ["planner", "a:b:c", "a b:c", ":x", "x:"]) {
    const { error } = GrantedRoles.safeParse(`team-a:planner,${wrong}`);
    assert.match(error?.message ?? "", /is not a user and role, such as team-a:planner/, wrong);
  }
});
