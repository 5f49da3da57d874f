import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import {
  createChatLink,
  listChatLinks,
  revokeChatLink,
} from "@switchyard/contracts/policy/chat-links";
import { until } from "@switchyard/local-servers/until";
import { startDiscordServer } from "../../services/channels/test-fixtures/discord-server.ts";
import { startMailServer } from "../../services/channels/test-fixtures/mail-server.ts";
import { startSlackServer } from "../../services/channels/test-fixtures/slack-server.ts";
import { startTelegramServer } from "../../services/channels/test-fixtures/telegram-server.ts";
import {
  discordChat,
  mailChat,
  slackChat,
  telegramChat,
  type PersonChat,
  type Shown,
} from "../lib/person-chats.ts";
import { connectAsCli, startYardDev, type DevProcess } from "../lib/yard-dev.ts";

// All services, each in a process of its own, and providers that are strict where the real ones are.

const ANN = 42;
const EVE = 666;
const directory = await mkdtemp(join(tmpdir(), "yard-chat-"));
const project = join(directory, "project");
const callsFile = join(directory, "calls");
await mkdir(join(project, "agents"), { recursive: true });
await mkdir(join(project, "policies"));
const [telegram, slack, discord, mail] = await Promise.all([
  startTelegramServer(),
  startSlackServer(),
  startDiscordServer(),
  startMailServer(),
]);
const { user, password } = mail.account;
const login = { host: "127.0.0.1", user, password, tls: "none" };
const files = {
  "policies/tests.yaml": `version: 1
rules:
  - { id: appends, effect: allow, approval: session, what: { tools: [counting.append] } }
`,
  "mcp-servers.json": JSON.stringify({
    mcpServers: {
      counting: {
        command: "${TEST_NODE}",
        args: ["${YARD_HOME}/test/e2e/fixtures/counting-server.ts"],
        env: { CALLS_FILE: callsFile },
      },
    },
  }),
  "channels.json": JSON.stringify({
    accounts: {
      telegram: {
        main: { caller: "cli", config: { token: telegram.token, apiRoot: telegram.apiRoot } },
      },
      slack: {
        main: {
          caller: "cli",
          config: { botToken: slack.tokens.bot, appToken: slack.tokens.app, apiUrl: slack.apiUrl },
        },
      },
      discord: { main: { caller: "cli", config: { token: discord.token, api: discord.api } } },
      email: {
        main: {
          caller: "cli",
          config: {
            address: user,
            authservId: "mx.test",
            smtp: { ...login, port: mail.smtpPort },
            imap: { ...login, port: mail.imapPort },
          },
        },
      },
    },
  }),
  "agents/chooser.yaml": agent("chooser", [
    { tool: "ask_user", with: { question: { $from: "/input" }, options: ["red", "<b>blue</b>"] } },
  ]),
  "agents/writer.yaml": agent("writer", [
    { tool: "ask_user", with: { question: { $from: "/input" } } },
  ]),
  "agents/clerk.yaml": agent("clerk", [
    { tool: "ask_user", with: { question: { $from: "/input" }, options: ["go on"] } },
    { tool: "mcp__counting__append", with: { line: { $from: "/input" } } },
  ]),
};
for (const [name, text] of Object.entries(files)) await writeFile(join(project, name), text);
const stateDir = join(directory, "state");
const env = { YARD_HTTP_URL: "https://yard.example.com" };
const dev = await startYardDev({ project, stateDir, apart: true, env });
const cli = await connectAsCli(dev);
after(async () => {
  await cli.close();
  await dev.stop();
  await Promise.all([telegram.close(), slack.close(), discord.close(), mail.close()]);
  await rm(directory, { recursive: true, force: true });
});

function agent(name: string, calls: readonly object[]): string {
  const steps = calls.map((one) => ({ calls: [{ ...one, as: "last" }] }));
  const plan = { steps, answer: "{{/results/last/text}}" };
  return JSON.stringify({ name, description: "Asks.", model: "scripted/plan", plan });
}

const messagesWith = (part: string, chat = ANN) =>
  [...telegram.shown]
    .map(([id, { chat: at, text, buttons }]) => ({ id, chat: at, text: String(text), buttons }))
    .filter(({ chat: at, text }) => at === chat && text.includes(part));

async function shown(part: string) {
  const [message] = await until(
    () => messagesWith(part),
    (all) => all.length > 0,
  );
  assert.ok(message);
  return message;
}

function write(from: number, text: string, repliedTo?: number): void {
  const more = repliedTo === undefined ? {} : { reply_to_message: { message_id: repliedTo } };
  const sender = { id: from, is_bot: false, first_name: "Somebody" };
  const fields = { from: sender, chat: { id: from, type: "private" }, ...more };
  telegram.push({ message: telegram.message(fields, text) });
}

async function pressed(messageId: number, press: { from: number; data: string }) {
  return until(telegram.press(messageId, press).answer);
}

async function start(runId: string, of: string, input: string): Promise<void> {
  await publishCommand(cli, startRun, { agent: of }, { runId, input });
}

/** A service that was killed several times is started again after a growing pause. */
const AFTER_KILLS = { timeoutMs: 180_000 };

const ENDED: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled", "dead"]);
const runOf = async (runId: string) => (await call(cli, getRun, { runId })).run;

async function outputOf(runId: string): Promise<unknown> {
  const run = await until(
    async () => {
      // A runner that was just killed does not answer.
      const found = await runOf(runId).catch(() => null);
      return found !== null && ENDED.has(found.status) ? found : null;
    },
    (found) => found !== null,
    AFTER_KILLS,
  );
  assert.equal(run?.status, "succeeded", JSON.stringify(run));
  return run.output;
}

async function link(from: number): Promise<void> {
  const before = messagesWith("You decide here as", from).length;
  write(from, (await call(cli, createChatLink, { asks: true })).code);
  await until(() => messagesWith("You decide here as", from).length > before);
}

async function linkIn(chat: PersonChat): Promise<void> {
  const [mine] = chat.people;
  const { code } = await call(cli, createChatLink, { asks: true });
  chat.write(mine, code);
  await until(() => chat.messages(mine, "You decide here as").length > 0);
}

test("a question with options is answered by a button of the linked person, once, and the message shows it", async () => {
  await link(ANN);
  await start("options", "chooser", "Which colour, @everyone?");
  const message = await shown("Which colour");
  assert.match(
    message.text,
    /^Question: agent chooser asks\nFor: cli\nUntil: .* UTC\nTo answer: press a button/,
  );
  assert.deepEqual(
    message.buttons.map(({ text }) => text),
    ["red", "<b>blue</b>"],
  );
  const [, blue] = message.buttons;
  assert.ok(blue);
  for (const [press, reason] of [
    [{ from: EVE, data: blue.data }, /for another person/],
    [{ from: ANN, data: `${blue.data.slice(0, -11)}AAAAAAAAAAA` }, /unknown here/],
  ] as const)
    assert.match((await pressed(message.id, press)).text, reason);
  assert.equal((await call(cli, listQuestions, {})).questions.length, 1);
  const press = { from: ANN, data: blue.data };
  assert.equal((await pressed(message.id, press)).text, "Answered by cli.");
  assert.equal(await outputOf("options"), "<b>blue</b>");
  const [changed] = await until(
    () => messagesWith("Answered by cli"),
    (all) => all.length > 0,
  );
  assert.deepEqual(changed?.buttons, []);
  assert.match((await pressed(message.id, press)).text, /^Answered before by cli/);
  const [red] = message.buttons;
  assert.ok(red);
  const late = await pressed(message.id, { from: ANN, data: red.data });
  assert.match(late.text, /Not answered: the question was answered/);
});

test("a question without options is answered by a reply to its message, and by no other message", async () => {
  await start("text", "writer", "Which words?");
  const message = await shown("Which words?");
  assert.match(message.text, /reply to this message/);
  write(EVE, "foreign words", message.id);
  write(ANN, "no reply");
  write(ANN, "my words", message.id);
  assert.equal(await outputOf("text"), "my words");
  await until(() => messagesWith("Answered by cli.").length > 0);
  write(ANN, "late words", message.id);
  await until(() => messagesWith("Not answered: the question was answered").length > 0);
});

test("a question that was answered elsewhere is shown so, and a revoked link answers nothing", async () => {
  await start("elsewhere", "chooser", "Which one, elsewhere?");
  const message = await shown("elsewhere?");
  const [question] = (await call(cli, listQuestions, {})).questions;
  assert.ok(question);
  const [known] = (await call(cli, listChatLinks, {})).links;
  await call(cli, revokeChatLink, { id: known?.id ?? "" });
  const [red] = message.buttons;
  assert.ok(red);
  const refused = await pressed(message.id, { from: ANN, data: red.data });
  assert.match(refused.text, /Not answered: link this account first/);
  const { runId, callId } = question;
  await call(cli, answerQuestion, { runId, callId, answer: "red" });
  assert.equal(await outputOf("elsewhere"), "red");
  await until(() => messagesWith("Which one, elsewhere?")[0]?.text.startsWith("Answered by cli"));
  await link(ANN);
});

/** Kills the process that has a service now, as its record states; `yard dev` starts it again. */
async function kill(service: string): Promise<void> {
  const record = await readFile(join(stateDir, "dev.json"), "utf8");
  const { processes } = JSON.parse(record) as { processes: DevProcess[] };
  const victim = processes.find(({ name }) => name.startsWith(service));
  assert.ok(victim, `there is no ${service}`);
  process.kill(victim.pid, "SIGKILL");
}

const linesOf = async (line: string) =>
  (await readFile(callsFile, "utf8").catch(() => "")).split("\n").filter((one) => one === line)
    .length;

const pendingOf = async (runId: string) =>
  (await call(cli, listApprovals, { pendingOnly: true })).approvals.some(
    ({ principal }) => principal.runId?.endsWith(runId) === true,
  );

const isTrue = (found: boolean): boolean => found;

/** One decision in one chat. The person has a chat with every provider, and each of them shows the call. */
interface Decision {
  readonly chat: PersonChat;
  readonly runId: string;
  readonly line: string;
}

/** Returns the one message of a chat about a call or a question. */
async function messageOf(chat: PersonChat, part: string): Promise<Shown> {
  const [message] = await until(
    () => chat.messages(chat.people[0], part),
    (all) => all.length > 0,
    AFTER_KILLS,
  );
  assert.ok(message);
  return message;
}

const OVER = /^(?:Approved|Answered)|consumed already|approved already|was answered/;

/** Presses until the button has decided, as a person does who gets no answer. */
async function pressUntilOver(chat: PersonChat, part: string, label: string): Promise<void> {
  const { id } = await messageOf(chat, part);
  await until(
    async () => {
      const message = chat.messages(chat.people[0], part).find((one) => one.id === id);
      const button = message?.buttons.find((one) => one.label === label);
      if (message === undefined || button === undefined) return true;
      const press = { from: chat.people[0], data: button.data };
      const answer = await chat.press(message, press).catch(() => ""); // a killed process does not answer
      return OVER.test(answer);
    },
    isTrue,
    AFTER_KILLS,
  );
}

const questionOf = ({ line }: Decision) => `${line}?`;
const callOf = ({ line }: Decision) => `"line":"${line}?"`;
const together = (all: readonly Decision[], work: (one: Decision) => Promise<unknown>) =>
  Promise.all(all.map(work));

/** Each step of a decision in a chat, after which a service is killed. */
const STEPS = ["asked", "sent", "pressed", "decided", "resumed"] as const;
const chats = [
  telegramChat(telegram),
  slackChat(slack),
  discordChat(discord),
  mailChat(mail, dev.httpUrl),
];

for (const victim of ["channels", "policy", "runner"])
  test(`kill -9 of the ${victim} after each step of answers and decisions in Telegram, Slack, Discord and a mail: one call each, approved, and the messages show it`, async () => {
    for (const chat of chats)
      if (chat.messages(chat.people[0], "You decide here as").length === 0) await linkIn(chat);
    for (const step of STEPS) {
      // One kill is in the middle of one decision in each chat.
      const all = chats.map((chat): Decision => {
        const runId = `${victim}-${step}-${chat.name}`;
        return { chat, runId, line: `line ${runId}` };
      });
      const at = async (reached: (typeof STEPS)[number]) => {
        if (reached === step) await kill(victim);
      };
      await together(all, ({ runId, line }) => start(runId, "clerk", `${line}?`));
      await together(all, (one) => pressUntilOver(one.chat, questionOf(one), "go on"));
      await together(all, ({ runId }) =>
        until(() => pendingOf(runId).catch(() => false), isTrue, AFTER_KILLS),
      );
      await at("asked");
      await together(all, (one) => messageOf(one.chat, callOf(one)));
      await at("sent");
      for (const { line } of all)
        assert.equal(await linesOf(`${line}?`), 0, "no call before its approval");
      const presses = together(all, (one) => pressUntilOver(one.chat, callOf(one), "Approve"));
      await at("pressed");
      await presses;
      await at("decided");
      for (const { line } of all)
        await until(
          () => linesOf(`${line}?`),
          (lines) => lines > 0,
          AFTER_KILLS,
        );
      await at("resumed");
      await together(all, ({ runId }) => outputOf(runId));
      for (const { line } of all)
        assert.equal(await linesOf(`${line}?`), 1, "no call is made twice");
      await together(all, shownOnce);
    }
  });

/** The other chats of the person show each call and question, too, once and with its end. */
async function shownOnce({ line }: Decision): Promise<void> {
  for (const chat of chats) {
    const { isEdited, people, name } = chat;
    const found = () => chat.messages(people[0], line);
    if (isEdited)
      await until(
        found,
        (all) => all.every(({ text }) => /^(?:Answered|Approved) by cli/.test(text)),
        AFTER_KILLS,
      );
    const texts = found().map(({ text }) => text.split("\n")[0]);
    assert.ok(
      texts.length <= 2,
      `${name}: one message for a question and one for a call: ${texts.join("; ")}`,
    );
  }
}
