import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { getApproval } from "@switchyard/contracts/policy/approvals";
import { listQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { getSession } from "@switchyard/contracts/agent-runner/sessions";
import { OTHERS, reachableContracts, TEAM_A, TEAM_B } from "./reachable.ts";
import { boundOf } from "./redis-bounds.ts";
import { isOfFamily, redisPatterns, redisRows } from "./redis-rows.ts";
import { attacksByContract } from "./attacks-by-contract.ts";
import { attacksOverHttp, startHttp } from "./attacks-over-http.ts";
import { startWorld } from "./world.ts";

// Answers of services to team-b about objects of team-a: one test for each row of the table. `open:` is an attack that still
// succeeds, with the reason; its test fails as soon as it does not.
const names = new Set(reachableContracts.map(({ name }) => name));

for (const name of names)
  test(`${name}, which every client may send, has a row that states what one team can do to another with it`, () => {
    const row = attacksByContract[name] ?? [];
    assert.ok(row.length > 0, `add ${name} to the tables of test/attacks/tenants`);
  });

test("no row is about a contract that no client may send", () => {
  const known = Object.keys(attacksByContract).filter((name) => !names.has(name));
  assert.deepEqual(known, []);
});

test("each family of keys that a service may write has a row, and no row is about another", () => {
  assert.deepEqual(Object.keys(redisRows).toSorted(), redisPatterns);
});

const world = await startWorld();

// First, because the others use up team-b's limit of questions to people.
const http = await startHttp(world, await world.startGateway());

for (const { title, run } of attacksOverHttp)
  test(`team-b's ${title}`, async () => {
    await run(http.ask, http.victim, world);
  });

for (const [name, row] of Object.entries(attacksByContract)) {
  if (typeof row === "string") continue;
  for (const { title, run, open } of row) {
    const options = open === undefined ? {} : { expectFailure: open };
    const mark = open === undefined ? "" : "open: ";
    test(`${mark}team-b's ${name} ${title}`, options, async () => {
      await run(world);
    });
  }
}

test("after all attacks team-a's key is as good as before, and its session is there over HTTP", async () => {
  const { status, text } = await http.askAsVictim(`GET /sessions/${http.victim.session}`);
  assert.equal(status, 200, text);
});

test("after all attacks team-a's runs, questions, approval and session are as they were", async () => {
  const { teamA, victim } = world;
  for (const { runId } of [victim.asked, victim.held])
    assert.equal((await call(teamA, getRun, { runId })).run.status, "waiting");
  assert.equal((await call(teamA, getRun, { runId: "done" })).run.output, "secret of team-a");
  const { approval } = await call(teamA, getApproval, { id: victim.held.approvalId });
  assert.equal(approval.state, "pending");
  const { questions } = await call(teamA, listQuestions, {});
  assert.deepEqual(
    questions.map(({ id }) => id),
    [victim.questionId],
  );
  const { session } = await call(teamA, getSession, { session: victim.session.key });
  assert.deepEqual([session.sessionId, session.messages], [victim.session.id, 2]);
});

test("each key in Redis after all attacks is of a family with a row and has a bound, and where it names an owner, of a user that there is", async () => {
  const answer = await world.redisAnswer(["KEYS", "*"]);
  const keys = answer.split("\r\n").filter((line) => line.startsWith("yard:"));
  const known = new Set([TEAM_A, TEAM_B, ...OTHERS]);
  const owners = new Set<string>();
  for (const key of keys) {
    const families = redisPatterns.filter((pattern) => isOfFamily(pattern, key));
    assert.ok(families.length > 0, `${key} is of no family`);
    assert.ok(boundOf(key), `${key} has no row in redis-bounds.ts`);
    for (const family of families) {
      const named = redisRows[family]?.owner;
      if (!(named instanceof RegExp)) continue;
      const owner = named.exec(key)?.[1] ?? "";
      assert.ok(known.has(owner), `${key} of ${family} names no owner`);
      owners.add(owner);
    }
  }
  // cli has a run of its own in the row about shared memory.
  assert.deepEqual([...owners].filter((owner) => owner !== "cli").toSorted(), [TEAM_A, TEAM_B]);
});
