import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { channelsWorld } from "../../test-fixtures/channels-world.ts";
import { startDiscordServer } from "../../test-fixtures/discord-server.ts";
import { startMailServer } from "../../test-fixtures/mail-server.ts";
import { startSlackServer } from "../../test-fixtures/slack-server.ts";
import { startTelegramServer } from "../../test-fixtures/telegram-server.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const [telegram, slack, discord, mail] = await Promise.all([
  startTelegramServer(),
  startSlackServer(),
  startDiscordServer(),
  startMailServer(),
]);
const { user, password } = mail.account;
const account = (config: object) => ({ main: { caller: "cli", config } });
const world = await channelsWorld({
  telegram: account({ token: "${TELEGRAM_TOKEN}", apiRoot: telegram.apiRoot }),
  slack: account({ botToken: "${SLACK_TOKEN}", apiUrl: slack.apiUrl }),
  discord: account({ token: "${DISCORD_TOKEN}", api: discord.api }),
  email: account({
    address: user,
    smtp: {
      host: "127.0.0.1",
      port: mail.smtpPort,
      user,
      password: "${MAIL_PASSWORD}",
      tls: "none",
    },
  }),
});
const service = await world.start({
  TELEGRAM_TOKEN: telegram.token,
  SLACK_TOKEN: slack.tokens.bot,
  DISCORD_TOKEN: discord.token,
  MAIL_PASSWORD: password,
  // The first send loads the provider's library, which takes its time on a busy machine.
  ...testConstants({ channelsSendMs: 10_000 }),
});
after(async () => {
  await Promise.all([telegram, slack, discord, mail].map((server) => server.close()));
});
const send = (channel: string, id: string, text: string) =>
  call(world.cli, sendChannelMessage, { to: { channel, target: { kind: "channel", id } }, text });

test("the service sends over every provider, in pieces that the provider takes [N2] [N4]", async () => {
  const long = "word ".repeat(500).trim();
  assert.equal((await send("telegram", "-1001", "word ".repeat(1000).trim())).messageIds.length, 2);
  assert.equal((await send("discord", "100", long)).messageIds.length, 2);
  assert.equal((await send("slack", "C1", long)).messageIds.length, 1);
  assert.equal((await send("email", "ada@example.test", long)).messageIds.length, 1);
  assert.equal(mail.received.length, 1);
});

test("a lost answer is queried from Slack and repeated to Discord, and each has the message once [N3] [N6]", async () => {
  slack.failNext("postMessage", { kind: "reset" });
  discord.failNext("/messages", { kind: "reset" });
  await send("slack", "C2", "once");
  await send("discord", "200", "once");
  assert.equal(slack.messages.filter((message) => message["channel"] === "C2").length, 1);
  assert.equal(discord.messages.filter((message) => message["channel_id"] === "200").length, 1);
  telegram.failNext("sendMessage", { kind: "reset" });
  await assert.rejects(send("telegram", "42", "once"), { code: "timeout_unknown" });
  assert.equal(telegram.calls.filter(({ fields }) => fields["text"] === "once").length, 1);
});

test("mail that the server does not take now is sent again, and mail that it never takes is not [N6]", async () => {
  mail.faults.push("busy");
  await send("email", "ada@example.test", "later");
  mail.faults.push("refused-content", "refused-content");
  await assert.rejects(send("email", "ada@example.test", "never"), { code: "not_allowed" });
  assert.equal(mail.faults.length, 1, "it was handed over once");
  assert.equal(mail.received.filter(({ source }) => /later|never/.test(source)).length, 1);
});

test("no secret is in the log or in an error", async () => {
  telegram.expireToken();
  const error = await send("telegram", "42", "x").catch((reason: unknown) => reason);
  assert.match(String(error), /refuses the token/);
  assert.doesNotMatch(`${String(error)} ${service.lines.join("\n")}`, /secret/);
});
