import { readFileSync, rmSync, writeFileSync, mkdtempSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { client } from "@switchyard/bus/call";
import { listMemories } from "@switchyard/contracts/toolbox/agent-memory";
import {
  approveCall,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import { publishCommand } from "@switchyard/bus/publish";
import {
  getSession,
  patchSession,
  resetSession,
} from "@switchyard/contracts/agent-runner/sessions";
import { CliError } from "../cli-error.ts";
import { approvalLines, stillMissing } from "../commands/approval-lines.ts";
import { fieldLines } from "../field-lines.ts";
import { getByPath } from "../get-by-path.ts";
import { currentBranch } from "../git-repository.ts";
import { HELP_TOPICS, topicNamed, topicText } from "../help-topics.ts";
import { findRunningInstance } from "../instance-record.ts";
import { stateDirectory } from "../locations.ts";
import { modelLabel } from "../model-label.ts";
import { printableLine } from "../printable.ts";
import { formatUsd } from "../quantities.ts";
import { contexts, currentContext, setting, SETTINGS, type SettingName } from "../settings.ts";
import type { Conversation, SlashCommand } from "./conversation.ts";

/** Commands that are the same for all users; skills and agents are looked up when one is typed. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  {
    name: "help",
    arguments: "[topic|command]",
    meaning: "this list, a topic or one command",
    run: help,
  },
  {
    name: "skills",
    arguments: "[name]",
    meaning: "the skills, or one with its text",
    run: showSkills,
  },
  {
    name: "skill",
    arguments: "<name> [arguments]",
    meaning: "use a skill for one message",
    run: () => {},
  },
  { name: "use", arguments: "<name> [arguments]", meaning: "the same", run: () => {} },
  {
    name: "skill off",
    arguments: "<name>",
    meaning: "do without a skill in this conversation",
    run: () => {},
  },
  { name: "skill on", arguments: "<name>", meaning: "have it again", run: () => {} },
  {
    name: "agents",
    arguments: "",
    meaning: "the agents",
    run: (chat) => chat.shell(["agents", "list"]),
  },
  { name: "agent", arguments: "<name>", meaning: "who answers from now on", run: () => {} },
  {
    name: "model",
    arguments: "<name>",
    meaning: "the model from now on; default is the agent's own",
    run: model,
  },
  { name: "tools", arguments: "", meaning: "the tools that the policy lets you call", run: tools },
  {
    name: "session",
    arguments: "",
    meaning: "this conversation: id, messages, tokens",
    run: session,
  },
  { name: "clear", arguments: "", meaning: "forget what was said here", run: clear },
  {
    name: "memory",
    arguments: "[search <text>]",
    meaning: "what this agent stored for you in its memory",
    run: memory,
  },
  { name: "config", arguments: "[key]", meaning: "settings, or one by its path", run: config },
  {
    name: "workspace",
    arguments: "",
    meaning: "project, workspace, how many skills and agents",
    run: workspace,
  },
  {
    name: "approve",
    arguments: "[id]",
    meaning: "show the call that waits; with its id, let it happen",
    run: (chat, rest) => approve(chat, rest),
  },
  { name: "deny", arguments: "[reason]", meaning: "do not let the waiting call happen", run: deny },
  {
    name: "policy",
    arguments: "explain <tool> [arguments]",
    meaning: "how the policy decides for this agent",
    run: policy,
  },
  {
    name: "stop",
    arguments: "",
    meaning: "cancel the run that is under way",
    run: (chat) => chat.cancel(),
  },
  {
    name: "steer",
    arguments: "<text>",
    meaning: "send a message to the run that is under way",
    run: steer,
  },
  { name: "cost", arguments: "", meaning: "tokens and money of this conversation", run: cost },
  { name: "edit", arguments: "", meaning: "write a message of several lines", run: edit },
  { name: "exit", arguments: "", meaning: "leave", run: (chat) => chat.leave() },
  { name: "quit", arguments: "", meaning: "leave", run: (chat) => chat.leave() },
];

function help(chat: Conversation, rest: string): void {
  const wanted = rest.trim();
  if (wanted === "") {
    const lines: [string, string][] = SLASH_COMMANDS.map((command) => [
      usage(command),
      command.meaning,
    ]);
    for (const line of fieldLines([
      ...lines,
      ["/<skill> [arguments]", "use a skill"],
      ["//text", "a text that begins with a slash"],
    ]))
      chat.say(line);
    chat.say(`Topics: ${HELP_TOPICS.join(", ")}. Commands of yard work, too: /runs list`);
    return;
  }
  const command = SLASH_COMMANDS.find(({ name }) => `/${name}` === `/${wanted.replace(/^\//, "")}`);
  const topic = topicNamed(wanted);
  if (topic !== null && !wanted.startsWith("/")) return chat.say(topicText(topic));
  if (command !== undefined) return chat.say(`${usage(command)}  ${command.meaning}`);
  throw new CliError("usage", `there is no help on ${JSON.stringify(wanted)}`, {
    hint: `topics: ${HELP_TOPICS.join(", ")}; commands: /help`,
  });
}

function usage({ name, arguments: words }: SlashCommand): string {
  return `/${name} ${words}`.trimEnd();
}

async function showSkills(chat: Conversation, rest: string): Promise<void> {
  const name = rest.trim();
  await chat.shell(["skills", ...(name === "" ? ["list"] : ["show", name])]);
  const { skillsOff } = chat;
  if (name === "" && skillsOff.length > 0)
    chat.say(
      `Off in this conversation: ${skillsOff.join(", ")}. On again with: /skill on ${skillsOff[0] ?? ""}`,
    );
  if (skillsOff.includes(name))
    chat.say(`Off in this conversation. On again with: /skill on ${name}`);
}

async function model(chat: Conversation, rest: string): Promise<void> {
  const wanted = rest.trim();
  if (wanted === "") return chat.say(modelLabel(chat.model ?? "default"));
  chat.model = wanted === "default" ? null : wanted;
  if (chat.hasBegun)
    await client(chat.bus, { patchSession }).patchSession({ session: chat.key, model: chat.model });
  chat.say(`Model: ${chat.model === null ? "the agent's own" : modelLabel(chat.model)}`);
}

async function tools(chat: Conversation): Promise<void> {
  await chat.shell(["tools", "list"]);
  await chat.shell(["mcp", "tools"]);
}

async function session(chat: Conversation): Promise<void> {
  if (chat.hasBegun) return chat.shell(["sessions", "show", chat.key, "--messages", "0"]);
  for (const line of fieldLines([
    ["session", `${chat.key} (nothing was said yet)`],
    ["agent", chat.agent],
    ["model", chat.model ?? ""],
    ["skills off", chat.skillsOff.join(", ")],
  ]))
    chat.say(line);
}

async function clear(chat: Conversation): Promise<void> {
  if (chat.hasBegun) await client(chat.bus, { resetSession }).resetSession({ session: chat.key });
  chat.say("What was said here is forgotten.");
}

/** Shows what the agent of this chat stored for the person with memory_write. */
async function memory(chat: Conversation, rest: string): Promise<void> {
  const [, search] = /^search\s+(.+)$/.exec(rest.trim()) ?? [];
  if (rest.trim() !== "" && search === undefined)
    throw new CliError("usage", "it is /memory or /memory search TEXT");
  const { memories } = await client(chat.bus, { listMemories }).listMemories({
    agent: chat.agent,
    ...(search === undefined ? {} : { search }),
  });
  for (const line of fieldLines(
    memories.map(({ name, preview }) => [printableLine(name), preview]),
  ))
    chat.say(line);
  if (memories.length > 0) return;
  chat.say(
    search === undefined
      ? `${chat.agent} has nothing in its memory for you; it writes there with the tool memory_write`
      : `nothing in the memory of ${chat.agent} has ${printableLine(search)}`,
  );
}

function config(chat: Conversation, rest: string): void {
  const names = Object.keys(SETTINGS) as SettingName[]; // `SETTINGS` is a literal, so its keys are these names.
  const settings = Object.fromEntries(names.map((name) => [name, setting(name, chat.env).value]));
  const value = {
    ...settings,
    contexts: contexts(chat.env),
    chat: {
      session: chat.key,
      agent: chat.agent,
      model: chat.model,
      skillsOff: chat.skillsOff,
    },
  };
  const key = rest.trim();
  const found = key === "" ? value : getByPath(value, key);
  if (found === undefined)
    throw new CliError("usage", `there is no setting ${key}`, { hint: "see all with: /config" });
  chat.say(typeof found === "string" ? found : JSON.stringify(found, null, 2));
}

async function workspace(chat: Conversation): Promise<void> {
  const instance = await findRunningInstance(stateDirectory(chat.env).instanceFile).catch(
    () => null,
  );
  const { skills, agents } = await chat.names();
  const branch = currentBranch(process.cwd());
  const lines = fieldLines([
    ["installation", currentContext(chat.env)?.name ?? "this machine"],
    ["project", instance?.project ?? ""],
    ["workspace", instance?.workspace ?? ""],
    ["here", `${process.cwd()}${branch === null ? "" : ` (branch ${branch})`}`],
    ["skills", String(skills.length)],
    ["agents", String(agents.length)],
  ]);
  for (const line of lines) chat.say(line);
}

/** The approval of the run under way, else the newest one. */
async function waitingApproval(chat: Conversation): Promise<string> {
  const runId = chat.runningId;
  const request = runId === null ? {} : { runId };
  const { approvals } = await client(chat.bus, { listApprovals }).listApprovals({
    limit: 1,
    ...request,
  });
  const [first] = approvals;
  if (first !== undefined) return first.id;
  throw new CliError("unknown_approval", "no call waits for an approval");
}

/** Without an id nothing is approved: the call that waits may be another one than the person has in mind. */
async function approve(chat: Conversation, rest: string): Promise<void> {
  const approvals = client(chat.bus, { approveCall, getApproval });
  const [named = "", ...words] = rest.trim().split(/\s+/);
  if (named === "") {
    const shown = await approvals.getApproval({ id: await waitingApproval(chat) });
    for (const line of approvalLines(shown, (_, text) => text)) chat.say(line);
    return chat.say(`let it happen with: /approve ${shown.approval.id}`);
  }
  const reason = words.length === 0 ? {} : { reason: words.join(" ") };
  const { approval } = await approvals.approveCall({ id: named, scope: "once", ...reason });
  chat.say(stillMissing(approval) ?? "approved, this once");
}

async function deny(chat: Conversation, rest: string): Promise<void> {
  const id = await waitingApproval(chat);
  const reason = rest.trim() === "" ? {} : { reason: rest.trim() };
  await client(chat.bus, { denyCall }).denyCall({ id, ...reason });
  chat.say("denied");
}

function policy(chat: Conversation, rest: string): Promise<void> {
  const [, tool, args] = /^explain\s+(\S+)(?:\s+([^]+))?$/.exec(rest.trim()) ?? [];
  if (tool === undefined) throw new CliError("usage", "it is /policy explain TOOL [ARGUMENTS]");
  const given = args === undefined ? [] : [args];
  return chat.shell(["policy", "explain", tool, ...given, "--agent", chat.agent]);
}

async function steer(chat: Conversation, rest: string): Promise<void> {
  const runId = chat.runningId;
  if (runId === null) throw new CliError("usage", "no run is under way; just type the text");
  if (rest.trim() === "") throw new CliError("usage", "it is /steer TEXT");
  await publishCommand(chat.bus, steerRun, { runId }, { message: rest.trim() });
  chat.say("the run gets it before its next step");
}

async function cost(chat: Conversation): Promise<void> {
  const tokens = chat.hasBegun
    ? (await client(chat.bus, { getSession }).getSession({ session: chat.key })).session.totalTokens
    : 0;
  const money = chat.costUsd === 0 ? "nothing that is priced" : formatUsd(chat.costUsd);
  chat.say(`${tokens} tokens in this conversation; ${money} since this chat began`);
}

/** A message of several lines: in the person's editor, else up to a line with a single dot. */
async function edit(chat: Conversation): Promise<void> {
  const editor = chat.env["VISUAL"] ?? chat.env["EDITOR"] ?? "";
  const text =
    editor === ""
      ? await chat.linesToDot()
      : await chat.withTerminal(() => Promise.resolve(edited(editor)));
  if (text.trim() === "") return chat.say("an empty message is not sent");
  await chat.message({ message: text.trimEnd() });
}

function edited(editor: string): string {
  const directory = mkdtempSync(join(tmpdir(), "yard-edit-"));
  const file = join(directory, "message.md");
  try {
    writeFileSync(file, "", { mode: 0o600 });
    const { status } = spawnSync("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    return status === 0 ? readFileSync(file, "utf8") : "";
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
