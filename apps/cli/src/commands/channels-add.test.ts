import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { CliError } from "../cli-error.ts";
import { add } from "./channels-add.ts";

const project = await mkdtemp(join(tmpdir(), "yard-channels-add-"));
after(() => rm(project, { recursive: true, force: true }));
await writeFile(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
const file = join(project, "channels.json");
const written = async () => JSON.parse(await readFile(file, "utf8"));
const run = (account: string, options: Partial<Parameters<typeof add>[2]> = {}) =>
  add(collectingTerminal().terminal, account, { project, user: "cli", ...options });
const refused = (promise: Promise<void>, text: RegExp) =>
  assert.rejects(promise, (error) => error instanceof CliError && text.test(error.message));

test("an account is written with the names of variables, beside what is there", async () => {
  await run("telegram", { agent: "helper", owner: ["42"] });
  await run("slack/team", { user: "team-a", secret: ["botToken=OUR_BOT"] });
  await run("loopback/desk");
  assert.deepEqual(await written(), {
    accounts: {
      telegram: {
        main: {
          caller: "cli",
          agent: "helper",
          owners: ["42"],
          config: { token: "${TELEGRAM_BOT_TOKEN}" },
        },
      },
      slack: {
        team: {
          caller: "team-a",
          config: { botToken: "${OUR_BOT}", appToken: "${SLACK_APP_TOKEN}" },
        },
      },
      loopback: { desk: { caller: "cli", config: {} } },
    },
  });
  assert.deepEqual((await readdir(project)).toSorted(byName), [
    "channels.json",
    "mcp-servers.json",
  ]);
});

const byName = (a: string, b: string): number => (a < b ? -1 : 1);

test("what is wrong is refused, without the secret in the message, and nothing is written", async () => {
  const before = await readFile(file, "utf8");
  await refused(run("telegram"), /has the account telegram\/main already/);
  await refused(run("fax"), /"fax" cannot be added/);
  await refused(run("constructor"), /cannot be added/);
  await refused(run("telegram/../x"), /is not a valid name of an account/);
  await refused(run("telegram/b", { user: "a b" }), /is not a valid name of a user/);
  await refused(run("telegram/b", { agent: "../x" }), /is not a valid name of an agent/);
  await refused(run("telegram/b", { project: tmpdir() }), /is not a project/);
  const token = "123456:ABC-a-real-token";
  for (const secret of [token, `token=${token}`, "other=NAME"])
    await assert.rejects(run("telegram/b", { secret: [secret] }), (error) => {
      assert.ok(error instanceof CliError);
      assert.doesNotMatch(`${error.message} ${error.hint}`, /real-token/);
      return true;
    });
  assert.equal(await readFile(file, "utf8"), before);
  await writeFile(file, '{"accounts": []}');
  await refused(run("telegram/b"), /is not what channels\.json is/);
  assert.equal(await readFile(file, "utf8"), '{"accounts": []}');
});
