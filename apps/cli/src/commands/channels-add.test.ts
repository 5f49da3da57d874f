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

test("mail and webhooks are written with their servers, and with one variable for the password or the secret", async () => {
  await run("email/desk", {
    address: "a@example.org",
    smtp: "smtp.example.org",
    owner: ["me@x.org"],
  });
  await run("email/own", {
    address: "b@example.org",
    smtp: "mail.example.org:587",
    imap: "mail.example.org",
    mailUser: "b",
    secret: ["password=B_PASSWORD"],
  });
  await run("webhook/ci", { url: "https://ci.example.org/in" });
  await run("webhook/deaf");
  const { accounts } = await written();
  const password = "${MAIL_PASSWORD}";
  assert.deepEqual(accounts.email.desk.config, {
    address: "a@example.org",
    smtp: { host: "smtp.example.org", port: 465, user: "a@example.org", password },
  });
  const login = { user: "b", password: "${B_PASSWORD}" };
  assert.deepEqual(accounts.email.own.config, {
    address: "b@example.org",
    smtp: { host: "mail.example.org", port: 587, tls: "starttls", ...login },
    imap: { host: "mail.example.org", port: 993, ...login },
  });
  const inbound = { secrets: ["${WEBHOOK_SECRET}"] };
  assert.deepEqual(accounts.webhook.ci.config, {
    inbound,
    outbound: { url: "https://ci.example.org/in", secret: "${WEBHOOK_SECRET}" },
  });
  assert.deepEqual(accounts.webhook.deaf.config, { inbound });
  await refused(run("email/x", { smtp: "smtp.example.org" }), /needs --address and --smtp/);
  await refused(run("email/x", { address: "a@b.c", smtp: "https://x" }), /is no host/);
  await refused(run("telegram/x", { smtp: "smtp.example.org" }), /are for email/);
  await refused(run("telegram/x", { url: "https://x" }), /--url is for webhook/);
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
