import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { listChannelAccounts, loginChannelAccount } from "@switchyard/contracts/channels/channels";
import { isError } from "@switchyard/contracts/errors";
import { until } from "@switchyard/local-servers/until";
import { channelsWorld } from "../../test-fixtures/channels-world.ts";
import { startTelegramServer } from "../../test-fixtures/telegram-server.ts";

const telegram = await startTelegramServer();
after(() => telegram.close());
const config = { token: "${BOT_TOKEN}", apiRoot: telegram.apiRoot };
const world = await channelsWorld({ telegram: { main: { caller: "cli", config } } });
const secretsFile = join(dirname(world.file), "channels.env");
await writeFile(secretsFile, "", { mode: 0o600 });
const service = await world.start({ YARD_KEYS_DIR: dirname(secretsFile) });

const login = (values: Record<string, string>, account: object = { accountId: "main" }) =>
  call(world.cli, loginChannelAccount, { channel: "telegram", values, ...account });
const accounts = async () =>
  (await call(world.cli, listChannelAccounts, {})).accounts.map(
    ({ channel, accountId }) => `${channel}/${accountId}`,
  );

test("without values it lists the secrets of an account, also of one that is not in force for the lack of them", async () => {
  assert.deepEqual(await accounts(), []);
  assert.deepEqual(await login({}), {
    channel: "telegram",
    accountId: "main",
    variables: ["BOT_TOKEN"],
    isStored: false,
    identity: null,
    problem: null,
  });
});

test("values that the provider rejects are not stored, and appear in no reply and no log line", async () => {
  const refused = await login({ BOT_TOKEN: "123456:wrong-token-of-mine" });
  assert.equal(refused.isStored, false);
  assert.match(refused.problem ?? "", /refuses the token/);
  assert.doesNotMatch(JSON.stringify(refused), /wrong-token/);
  assert.match((await login({ OTHER: "x" })).problem ?? "", /does not name OTHER/);
  assert.equal(await readFile(secretsFile, "utf8"), "");
});

test("values that the provider accepts are stored for this user alone, and in force at once and after a restart", async () => {
  const stored = await login({ BOT_TOKEN: telegram.token }, {});
  assert.equal(stored.isStored, true);
  assert.ok((stored.identity ?? "").length > 0);
  assert.deepEqual(await accounts(), ["telegram/main"]);
  assert.equal((await stat(secretsFile)).mode & 0o777, 0o600);
  assert.equal(await readFile(secretsFile, "utf8"), `BOT_TOKEN=${telegram.token}\n`);
  await service.kill("SIGTERM");
  assert.ok(service.lines.every((line) => !line.includes(telegram.token)));
  // The file takes precedence over the environment, because it has the values of the latest login.
  await world.start({ YARD_KEYS_DIR: dirname(secretsFile), BOT_TOKEN: "123:old" });
  await until(accounts, (names) => names.length === 1);
  await writeFile(secretsFile, "BOT_TOKEN=\n");
  await writeFile(secretsFile, `OTHER=1\nBOT_TOKEN=${telegram.token}\n`);
  assert.deepEqual(await accounts(), ["telegram/main"]);
});

test("only the user who runs the installation may log in, and without a file no secret can be stored", async () => {
  await world.start();
  const none = login({ BOT_TOKEN: telegram.token });
  await assert.rejects(none, (error) => isError(error, loginChannelAccount, "no_secret_store"));
  const team = await world.bus("team-a");
  await assert.rejects(
    call(team, loginChannelAccount, { channel: "telegram", values: {} }),
    (error) => isError(error, loginChannelAccount, "unknown_account"),
  );
  await assert.rejects(login({}, { accountId: "other" }), (error) =>
    isError(error, loginChannelAccount, "unknown_account"),
  );
});
