import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startTelegramServer } from "../../services/channels/test-fixtures/telegram-server.ts";
import { startYardDev } from "../lib/yard-dev.ts";

// The unchanged example, with a Telegram of the test's own.
const project = "examples/telegram-assistant";
const telegram = await startTelegramServer();
const directory = await mkdtemp(join(tmpdir(), "yard-telegram-"));
const stateDir = join(directory, "state");
const dev = await startYardDev({
  project,
  stateDir,
  workspace: join(project, "files"),
  env: { TELEGRAM_BOT_TOKEN: telegram.token, TELEGRAM_API_ROOT: telegram.apiRoot },
});
after(async () => {
  await dev.stop();
  await telegram.close();
  await rm(directory, { recursive: true, force: true });
});
const env = yardEnvironment(stateDir);

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await yard(args, env);
  assert.equal(code, 0, stderr);
  return stdout;
}

const sentTo = (chat: string) =>
  telegram.calls
    .filter(({ method, fields }) => method === "sendMessage" && String(fields["chat_id"]) === chat)
    .map(({ fields }) => String(fields["text"]));

test("the owner's message is answered once, and messages of other senders are ignored", async () => {
  assert.match(await said("channels", "check", "telegram"), /^ok +telegram\/main +\S*yard_bot/m);
  const stranger = { id: 7, is_bot: false, first_name: "Eve" };
  telegram.push({
    message: telegram.message({ from: stranger, chat: { id: 7, type: "private" } }, "let me in"),
  });
  const update = { message: telegram.message({}, "what is up?") };
  const id = telegram.push(update);
  telegram.push(update, id);
  await until(() => sentTo("42").length > 0);
  const answer = "You wrote: what is up?\nYour list begins with: Call Ada about the roof";
  assert.deepEqual(sentTo("42"), [answer]);
  assert.deepEqual(sentTo("7"), []);
  assert.match(await said("sessions", "list"), /^agent:assistant:telegram:main:direct:42 /m);
});

test("the report of the morning is written to the chat by its schedule", async () => {
  const before = sentTo("42").length;
  const when = ["--cron", "0 7 * * 1-5", "--tz", "Europe/Berlin"];
  const what = ["--agent", "reporter", "--message", "Write the report."];
  const where = ["--announce", "telegram", "--to", "user:42"];
  await said("schedules", "add", "morning report", ...when, ...what, ...where);
  await said("schedules", "run", "morning report");
  await until(async () => / ok .* delivered /.test(await said("schedules", "history")));
  assert.deepEqual(sentTo("42").slice(before), [
    "Good morning. Today:\nCall Ada about the roof\nBuy milk",
  ]);
  // The session of that chat includes the message.
  const session = "agent:assistant:telegram:main:direct:42";
  await until(async () =>
    /this was sent to the people of this chat from run [^]*Good morning\. Today:/.test(
      await said("sessions", "show", session),
    ),
  );
});
