import assert from "node:assert/strict";
import { test } from "node:test";
import { ensureStreams } from "@switchyard/bus/streams";
import { testUsers } from "@switchyard/testing/test-users";
import { allContracts } from "@switchyard/contracts/registry";
import { testNats } from "@switchyard/testing/test-servers";
import { letThrough, subscriptionEnding } from "../../lib/permission-probe.ts";
import { contractRows, queueRows, storeRows, subjectRows } from "./permission-rows.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";

// Refusals by the server's permissions alone, whichever services run: one test for each row of the tables.
const users = testUsers([TEAM_A, TEAM_B]);
const nats = await testNats({ authorization: users.authorization });
await ensureStreams(await users.connect(nats, "admin"));
const teamB = await users.connect(nats, TEAM_B);

const rows = [...contractRows(), ...storeRows(), ...queueRows(), ...subjectRows()];

for (const { title, publish = [], subscribe = [] } of rows)
  test(`${TEAM_B} ${title}`, async () => {
    assert.ok(publish.length + subscribe.length > 0, "a row without an attack proves nothing");
    assert.deepEqual(await letThrough(teamB, publish), []);
    for (const { subject, queue } of subscribe)
      assert.match(await subscriptionEnding(teamB, subject, queue), /Permissions Violation/);
  });

test("the probes detect what the server lets through", async () => {
  const own = [`yard.rpc.${TEAM_B}.runs.list`, `$JS.API.CONSUMER.INFO.YARD_EVENTS.${TEAM_B}-1`];
  assert.deepEqual(await letThrough(teamB, own), own);
  assert.equal(await subscriptionEnding(teamB, `yard.evt.run.${TEAM_B}.>`), "let through");
});

test("every event of runs, sessions, approvals, grants and questions carries its owner", () => {
  const owned = /^yard\.(evt|live)\.(run|session|approval|grant|mcp-question|mcp)\./;
  const without = allContracts
    .map(({ subject }) => subject)
    .filter(
      (subject) => owned.test(subject) && !/^yard\.(evt|live)\.[a-z-]+\.\{owner\}\./.test(subject),
    )
    // The events of a server belong to the installation.
    .filter((subject) => !/^yard\.evt\.mcp\.(\{server\}|config)\./.test(subject));
  assert.deepEqual(without, []);
});
