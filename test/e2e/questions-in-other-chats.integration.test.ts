import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { listQuestions as listServerQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import {
  createChatLink,
  listChatLinks,
  revokeChatLink,
} from "@switchyard/contracts/policy/chat-links";
import { until } from "@switchyard/local-servers/until";
import { startDiscordServer } from "../../services/channels/test-fixtures/discord-server.ts";
import { startSlackServer } from "../../services/channels/test-fixtures/slack-server.ts";
import { discordChat, slackChat, type PersonChat, type Shown } from "../lib/person-chats.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

// All services, with a Slack and a Discord that are strict where the real ones are. One person is linked in both, so each question is
// shown in both. Telegram is in chat-kills.integration.test.ts.

const directory = await mkdtemp(join(tmpdir(), "yard-questions-"));
const project = join(directory, "project");
await mkdir(join(project, "agents"), { recursive: true });
await mkdir(join(project, "policies"));
const [slack, discord] = await Promise.all([startSlackServer(), startDiscordServer()]);
const QUESTION = { question: { $from: "/input" } };
const MESSAGE = { message: { $from: "/input" } };
const files = {
  "policies/tests.yaml": `version: 1
rules:
  - { id: tools, effect: allow, approval: auto, what: { tools: [forms.*] } }
  - { id: questions, effect: allow, approval: auto, what: { elicitation: [forms] } }
`,
  "mcp-servers.json": JSON.stringify({
    mcpServers: {
      forms: {
        command: "${TEST_NODE}",
        args: ["${YARD_HOME}/test/e2e/fixtures/form-server.ts"],
      },
    },
  }),
  "channels.json": JSON.stringify({
    accounts: {
      slack: {
        main: {
          caller: "cli",
          config: {
            botToken: slack.tokens.bot,
            appToken: slack.tokens.app,
            apiUrl: slack.apiUrl,
          },
        },
      },
      discord: {
        main: { caller: "cli", config: { token: discord.token, api: discord.api } },
      },
    },
  }),
  "agents/chooser.yaml": agent("chooser", "ask_user", { ...QUESTION, options: ["red", "*blue*"] }),
  "agents/writer.yaml": agent("writer", "ask_user", QUESTION),
  ...Object.fromEntries(
    ["colour", "name", "amount", "both"].map((tool) => [
      `agents/${tool}.yaml`,
      agent(tool, `mcp__forms__${tool}`, MESSAGE),
    ]),
  ),
};
for (const [name, text] of Object.entries(files)) await writeFile(join(project, name), text);
const dev = await startYardDev({ project, stateDir: join(directory, "state") });
const cli = await connectAsCli(dev);
after(async () => {
  await cli.close();
  await dev.stop();
  await Promise.all([slack.close(), discord.close()]);
  await rm(directory, { recursive: true, force: true });
});

function agent(name: string, tool: string, args: object): string {
  const plan = {
    steps: [{ calls: [{ tool, with: args, as: "last" }] }],
    answer: "{{/results/last/text}}",
  };
  return JSON.stringify({ name, description: "Asks.", model: "scripted/plan", plan });
}

const chats = [slackChat(slack), discordChat(discord)];

async function shown(chat: PersonChat, part: string, person = chat.people[0]): Promise<Shown> {
  const [message] = await until(
    () => chat.messages(person, part),
    (all) => all.length > 0,
  );
  assert.ok(message);
  return message;
}

function buttonOf({ buttons }: Shown, label: string): string {
  const found = buttons.find((one) => one.label === label);
  assert.ok(found, `${label} is none of ${buttons.map((one) => one.label).join(", ")}`);
  return found.data;
}

async function link(chat: PersonChat): Promise<void> {
  const [mine] = chat.people;
  const before = chat.messages(mine, "You decide here as").length;
  chat.write(mine, (await call(cli, createChatLink, { asks: true })).code);
  await until(() => chat.messages(mine, "You decide here as").length > before);
}

async function start(of: string, input: string): Promise<string> {
  const runId = input.replaceAll(/[^a-z]+/gi, "-");
  await publishCommand(cli, startRun, { agent: of }, { runId, input });
  return runId;
}

async function outputOf(runId: string): Promise<unknown> {
  const { run } = await until(
    () => call(cli, getRun, { runId }),
    ({ run: { status } }) => ["succeeded", "failed", "cancelled", "dead"].includes(status),
  );
  assert.equal(run.status, "succeeded", JSON.stringify(run));
  return run.output;
}

/** All messages about a question show its end, and have no buttons. */
async function ended(question: string, end: string): Promise<void> {
  for (const chat of chats) {
    const messages = await until(
      () => chat.messages(chat.people[0], question),
      (all) => all.every(({ text, buttons }) => text.startsWith(end) && buttons.length === 0),
    );
    assert.equal(messages.length, 1, `${chat.name} has one message about a question`);
  }
}

for (const chat of chats) {
  const [mine, other] = chat.people;

  test(`${chat.name}: a question with options is answered by a button of the linked person, once, and both chats show it`, async () => {
    for (const one of chats)
      if (one.messages(one.people[0], "You decide").length === 0) await link(one);
    const text = `Which colour by ${chat.name}, @everyone?`;
    const runId = await start("chooser", text);
    const message = await shown(chat, text);
    assert.match(
      message.text,
      /^Question: agent chooser asks\nFor: cli\nUntil: .* UTC\nTo answer: press a button/,
    );
    assert.deepEqual(
      message.buttons.map(({ label }) => label),
      ["red", "*blue*"],
    );
    const blue = buttonOf(message, "*blue*");
    for (const press of [
      { from: mine, data: `${blue.slice(0, -11)}AAAAAAAAAAA` },
      { from: other, data: blue, place: other },
      { from: other, data: blue },
    ])
      assert.match(await chat.press(message, press), /unknown here/);
    assert.equal((await call(cli, listQuestions, {})).questions.length, 1);
    assert.equal(await chat.press(message, { from: mine, data: blue }), "Answered by cli.");
    assert.equal(await outputOf(runId), "*blue*");
    await ended(text, "Answered by cli");
    const again = await chat.press(message, { from: mine, data: blue });
    assert.match(again, /^Answered before by cli/);
    const late = await chat.press(message, { from: mine, data: buttonOf(message, "red") });
    assert.match(late, /Not answered: the question was answered/);
  });

  test(`${chat.name}: a question without options is answered by a reply to its message, and by no other message`, async () => {
    const text = `Which words by ${chat.name}?`;
    const runId = await start("writer", text);
    const message = await shown(chat, text);
    assert.match(message.text, /reply to this message/);
    assert.deepEqual(message.buttons, []);
    chat.write(other, "foreign words", message.id);
    chat.write(mine, "no reply");
    chat.write(mine, `words of ${chat.name}`, message.id);
    assert.equal(await outputOf(runId), `words of ${chat.name}`);
    await ended(text, "Answered by cli");
    chat.write(mine, "late words", message.id);
    await shown(chat, "Not answered: the question was answered");
  });

  test(`${chat.name}: a question of an MCP server is answered by a button or a reply, and the tool gets the answer`, async () => {
    const pick = `Pick a colour by ${chat.name}`;
    const picking = await start("colour", pick);
    const colour = await shown(chat, pick);
    assert.match(colour.text, /forms/);
    assert.deepEqual(
      colour.buttons.map(({ label }) => label),
      ["red", "green", "blue", "Decline"],
    );
    const green = buttonOf(colour, "green");
    assert.match(await chat.press(colour, { from: other, data: green }), /unknown here/);
    assert.equal(
      (await call(cli, listServerQuestions, {})).questions.filter(
        ({ state }) => state === "pending",
      ).length,
      1,
    );
    assert.equal(await chat.press(colour, { from: mine, data: green }), "Answered by cli.");
    const accepted = (given: object) => JSON.stringify({ action: "accept", content: given });
    assert.equal(await outputOf(picking), accepted({ colour: "green" }));
    await ended(pick, "Answered by cli");
    const late = await chat.press(colour, { from: mine, data: buttonOf(colour, "red") });
    assert.match(late, /Not answered: the question was answered/);

    const count = `How many by ${chat.name}`;
    const counting = await start("amount", count);
    const amount = await shown(chat, count);
    chat.write(other, "3", amount.id);
    chat.write(mine, "three", amount.id);
    await shown(chat, "Not answered: reply with a number.");
    chat.write(mine, "10", amount.id);
    await until(() =>
      chat.messages(mine, "Not answered: ").some(({ text }) => text.includes("amount")),
    );
    chat.write(mine, "7", amount.id);
    assert.equal(await outputOf(counting), accepted({ amount: 7 }));
    await ended(count, "Answered by cli");

    const refuse = `Your name for ${chat.name}`;
    const refusing = await start("name", refuse);
    const name = await shown(chat, refuse);
    const declined = await chat.press(name, { from: mine, data: buttonOf(name, "Decline") });
    assert.equal(declined, "Declined by cli.");
    assert.equal(await outputOf(refusing), JSON.stringify({ action: "decline" }));
    await ended(refuse, "Declined by cli");
  });
}

for (const chat of chats)
  test(`${chat.name}: a revoked link answers nothing, and another chat of the person does`, async () => {
    const [mine] = chat.people;
    const text = `After the end of ${chat.name}?`;
    const runId = await start("chooser", text);
    const message = await shown(chat, text);
    const { links } = await call(cli, listChatLinks, {});
    const id = links.find(({ channel }) => channel === chat.name)?.id ?? "";
    await call(cli, revokeChatLink, { id });
    const refused = await chat.press(message, { from: mine, data: buttonOf(message, "red") });
    assert.match(refused, /Not answered: link this account first/);
    const elsewhere = chats.find((one) => one !== chat);
    assert.ok(elsewhere);
    const there = await shown(elsewhere, text);
    const [person] = elsewhere.people;
    const by = { from: person, data: buttonOf(there, "red") };
    assert.equal(await elsewhere.press(there, by), "Answered by cli.");
    assert.equal(await outputOf(runId), "red");
    await ended(text, "Answered by cli");
    await link(chat);
  });
