import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { listChannelAccounts, submitChannelMessage } from "@switchyard/contracts/channels/channels";
import { until } from "@switchyard/local-servers/until";
import { channelsWorld } from "../../test-fixtures/channels-world.ts";

const account = (fields: object = {}) => ({ caller: "cli", direct: { policy: "open" }, ...fields });
const world = await channelsWorld({ loopback: { main: account() } });
const service = await world.start();

async function accounts() {
  const { accounts: all, problems } = await call(world.cli, listChannelAccounts, {});
  return { names: all.map(({ channel, accountId }) => `${channel}/${accountId}`), problems };
}

const become = (names: readonly string[]) =>
  until(accounts, (now) => now.names.join() === names.join());

test("an edit of channels.json adds, changes and ends accounts, and leaves the others as they are", async () => {
  await become(["loopback/main"]);
  await world.write({ loopback: { main: account(), second: account() } });
  await become(["loopback/main", "loopback/second"]);
  const target = { kind: "user" as const, id: "ann" };
  await call(world.cli, submitChannelMessage, {
    channel: "loopback",
    accountId: "second",
    text: "hello",
    sender: { id: "ann" },
    target,
  });
  await world.write({ loopback: { second: account({ callers: ["team-a"] }) } });
  await become(["loopback/second"]);
  const teamA = await world.bus("team-a");
  await until(
    () => call(teamA, listChannelAccounts, {}),
    ({ accounts: usable }) => usable.length === 1,
  );
});

test("an invalid edit leaves the accounts in force, and is reported until it is corrected", async () => {
  const { names } = await accounts();
  await writeFile(world.file, '{"accounts": {');
  const refused = await until(accounts, ({ problems }) => problems.length > 0);
  assert.deepEqual(refused.names, names);
  assert.match(refused.problems.join(), /channels\.json is not valid JSON/);
  await world.write({
    loopback: { second: account({ callers: ["team-a"] }), third: { caller: 1 } },
  });
  const partly = await until(accounts, ({ problems }) => /loopback\/third/.test(problems.join()));
  assert.deepEqual(partly.names, names);
  await world.write({ loopback: { third: account() } });
  // The problems are cleared when the last account has changed.
  const corrected = await until(accounts, ({ problems }) => problems.length === 0);
  assert.deepEqual(corrected.names, ["loopback/third"]);
  assert.ok(service.lines.some((line) => line.includes("channels file not in force")));
});
