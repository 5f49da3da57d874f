import { randomBytes } from "node:crypto";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { listSessions, sessionHistory } from "@switchyard/contracts/agent-runner/sessions";
import { findBus, withBus } from "../bus-session.ts";
import { Conversation, sessionOf, type ConversationIo } from "../chat/conversation.ts";
import { readHistory, writeHistory } from "../chat/history-file.ts";
import { LineInput } from "../chat/line-input.ts";
import { createShell, type Shell } from "../chat/shell.ts";
import { SLASH_COMMANDS } from "../chat/slash-commands.ts";
import { CliError, reportFailure } from "../cli-error.ts";
import { agentToTry } from "../dev/ready-block.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { stateDirectory } from "../locations.ts";
import { namedSession } from "../named-session.ts";
import type { BuildProgram } from "../program/command-options.ts";
import { printable, printableLine } from "../printable.ts";
import { setting } from "../settings.ts";
import { checkIsText, textOrStandardInput } from "../standard-input.ts";
import { writeJson, type Style, type Terminal } from "../terminal.ts";
import { untilStopped, type Stop } from "../until-stopped.ts";

export interface ChatOptions {
  readonly agent?: string;
  readonly model?: string;
  readonly session?: string;
  readonly resume?: true;
  /** One message, `-` for standard input; then the answer is all that comes to stdout. */
  readonly message?: string;
  readonly json?: true;
}

const PREFIX = "chat-";
const SHOWN_MESSAGES = 4;
const NARROWEST = 20;
const USUAL_WIDTH = 80;

/** `yard chat`: a conversation at a terminal, in a pipe, or of one message. */
export async function chat(
  terminal: Terminal,
  options: ChatOptions,
  build: BuildProgram,
): Promise<ExitCode> {
  const shell = createShell(build);
  const message = options.message === undefined ? null : await textOrStandardInput(options.message);
  if (message !== null && message.trim() === "")
    throw new CliError("usage", "the message is empty", { hint: 'such as: -m "hello"' });
  const json = options.json === true;
  if (json && message === null)
    throw new CliError("usage", "--json goes only with -m: a conversation is for people", {
      hint: 'such as: ./yard chat --json -m "hello"',
    });
  return withBus(await findBus(terminal.env), async (bus) => {
    const about = await begin(bus, options, terminal.env);
    return untilStopped(async (stop) => {
      if (message === null) return converse(terminal, bus, { about, shell, stop });
      const io = aside(terminal, { json, shell, signal: stop.signal });
      const conversation = new Conversation(
        bus,
        { ...about, commands: SLASH_COMMANDS, env: terminal.env },
        io,
      );
      return once(terminal, conversation, { message, json, stop });
    });
  });
}

interface About {
  readonly key: string;
  readonly agent: string;
  readonly model: string | null;
  readonly skillsOff: readonly string[];
  readonly hasBegun: boolean;
}

/** The session, and the agent that answers in it. */
async function begin(bus: Bus, options: ChatOptions, env: NodeJS.ProcessEnv): Promise<About> {
  const named = options.session;
  const other = async () => (options.resume ? lastChat(bus) : newKey());
  const key = named === undefined ? await other() : await namedSession(bus, named);
  const session = await sessionOf(bus, key);
  const { agents } = await client(bus, { listAgents }).listAgents({});
  const agent =
    options.agent ?? session?.agent ?? setting("agent", env).value ?? agentToTry(agents);
  if (agent === null)
    throw new CliError("usage", "no agent is named, and the project has none", {
      hint: "name one with --agent; see the agents with: ./yard agents list",
    });
  if (!agents.some(({ name }) => name === agent))
    throw new CliError("unknown_agent", `Agent '${agent}' not found.`, {
      hint: "see the agents with: ./yard agents list",
    });
  const model = options.model ?? session?.model ?? setting("model", env).value;
  const skillsOff = session?.skillsOff ?? [];
  return { key, agent, model, skillsOff, hasBegun: session !== null };
}

async function lastChat(bus: Bus): Promise<string> {
  const { sessions } = await client(bus, { listSessions }).listSessions({
    search: PREFIX,
    limit: 20,
  });
  const found = sessions.find(({ key }) => key.startsWith(PREFIX));
  if (found !== undefined) return found.key;
  throw new CliError("unknown_session", "there is no chat to continue", {
    hint: "begin one with: ./yard chat",
  });
}

function newKey(): string {
  const at = new Date()
    .toISOString()
    .replaceAll(/[-:]|\..*$/g, "")
    .replace("T", "-");
  // Not the id of the process: in containers all have the same.
  return `${PREFIX}${at}-${randomBytes(3).toString("hex")}`;
}

/** One message: cards and questions go to stderr, the answer to stdout. */
async function once(
  terminal: Terminal,
  conversation: Conversation,
  {
    message,
    json,
    stop,
  }: { readonly message: string; readonly json: boolean; readonly stop: Stop },
): Promise<ExitCode> {
  await conversation.take(message);
  if (stop.reason !== null && conversation.leftRunId !== null)
    terminal.note(
      `no longer following; the run continues. See it with: ./yard runs show ${conversation.leftRunId}`,
    );
  if (json) {
    writeJson(terminal, { session: conversation.key, end: conversation.lastEnd });
    return conversation.lastCode;
  }
  if (conversation.hasBegun)
    terminal.note(`continue with: ./yard chat --session ${conversation.key}`);
  return conversation.lastCode;
}

function aside(
  terminal: Terminal,
  {
    json,
    shell,
    signal,
  }: { readonly json: boolean; readonly shell: Shell; readonly signal: AbortSignal },
): ConversationIo {
  return {
    signal,
    screen: {
      write: (text) => void process.stderr.write(text),
      width: () => Number.POSITIVE_INFINITY,
      paint: terminal.paintNote,
    },
    person: null,
    isLive: false,
    withTerminal: (use) => use(),
    isShellCommand: (name) => shell.has(name),
    shell: (words) => shell.run(terminal, words),
    readLine: () => Promise.resolve(null),
    answer: (text) => (json ? undefined : terminal.out(printable(text))),
  };
}

async function converse(
  terminal: Terminal,
  bus: Bus,
  { about, shell, stop }: { readonly about: About; readonly shell: Shell; readonly stop: Stop },
): Promise<ExitCode> {
  const state = stateDirectory(terminal.env).path;
  const history = readHistory(state);
  let held: Conversation | null = null;
  let interrupts = 0;
  const input: LineInput = new LineInput({
    history,
    completer: (line) => [held?.candidates(line) ?? [], line],
    onInterrupt: () => {
      interrupts += 1;
      const conversation = held;
      if (conversation === null || interrupts > 1) return leaveNow();
      if (conversation.runningId === null) {
        terminal.out("\nCtrl-C again, Ctrl-D or /exit leaves");
        return input.show(PROMPT);
      }
      terminal.out("\ncancelling the run; Ctrl-C again leaves at once");
      void conversation.cancel().catch((error: unknown) => {
        // A person who has left does not wait for the reply.
        if (leftNow === null) reportFailure(terminal, error, false);
      });
    },
  });
  let leftNow: ExitCode | null = null;
  const left = Promise.withResolvers<null>();
  stop.signal.addEventListener("abort", () => {
    leftNow = EXIT.interrupted;
    left.resolve(null);
  });
  const leaveNow = (): void => stop.stop("interrupted");
  const io: ConversationIo = {
    signal: stop.signal,
    screen: {
      write: (text) => void process.stdout.write(text),
      width: () => Math.max(NARROWEST, process.stdout.columns ?? USUAL_WIDTH),
      paint: (style: Style, text: string) => terminal.paintOut(style, text),
    },
    person: input.isTerminal ? input : null,
    isLive: input.isTerminal,
    withTerminal: (use) => input.withTerminal(use),
    isShellCommand: (name) => shell.has(name),
    shell: (words) => shell.run({ ...terminal, note: terminal.out, error: terminal.out }, words),
    readLine: (prompt) => input.next(prompt),
  };
  const conversation = new Conversation(
    bus,
    { ...about, commands: SLASH_COMMANDS, env: terminal.env },
    io,
  );
  held = conversation;
  if (input.isTerminal) await greet(terminal, bus, about);
  await conversation.names();
  const typed: string[] = [];
  try {
    for (;;) {
      const prompt = conversation.runningId === null ? PROMPT : "";
      // The lines come one by one, and what they ask for may take long.
      const line = await Promise.race([input.next(prompt), left.promise]);
      if (line === null) break;
      if (!input.isTerminal) checkIsText(line);
      // A run that was under way may have ended while the person typed.
      const isBusy = conversation.runningId !== null;
      interrupts = 0;
      typed.unshift(line);
      const started = conversation.nextRun();
      const work = conversation.take(line);
      // At a terminal the person may speak while a run works; a pipe waits.
      await Promise.race([work, left.promise, ...(input.isTerminal ? [started] : [])]);
      if (conversation.isLeaving || leftNow !== null) break;
      if (!isBusy && conversation.runningId !== null) void work.then(() => input.show(PROMPT));
    }
  } finally {
    writeHistory(state, [...typed, ...history.filter((line) => !typed.includes(line))]);
    input.close();
  }
  if (conversation.hasBegun)
    terminal.note(`continue with: ./yard chat --session ${conversation.key}`);
  if (leftNow !== null) return leftNow;
  return input.isTerminal ? EXIT.ok : conversation.lastCode;
}

const PROMPT = "> ";

/** Prints the agent and the latest messages of the session. */
async function greet(terminal: Terminal, bus: Bus, { key, agent, hasBegun }: About): Promise<void> {
  terminal.out(
    `${terminal.paintOut("bold", agent)} answers. /help lists commands, Ctrl-C cancels a run, /exit leaves.`,
  );
  if (!hasBegun) return;
  const { messages } = await client(bus, { sessionHistory }).sessionHistory({
    session: key,
    limit: SHOWN_MESSAGES,
  });
  for (const { role, text } of messages) {
    const mark = role === "user" ? "> " : "";
    const shown = role === "user" ? printableLine(text) : printable(text);
    terminal.out(terminal.paintOut("dim", `${mark}${shown}`));
  }
}
