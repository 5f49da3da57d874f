import { randomBytes } from "node:crypto";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { subscribeLive } from "@switchyard/bus/events";
import { listAgents, type AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import { ServiceError } from "@switchyard/contracts/errors";
import { fullRunId, runTokens } from "@switchyard/contracts/ids";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { requestCancel } from "@switchyard/contracts/agent-runner/runs";
import {
  getSession,
  patchSession,
  sendToSession,
} from "@switchyard/contracts/agent-runner/sessions";
import { listSkills } from "@switchyard/contracts/skill-importer/skills";
import { namingLines, readTypedLine } from "@switchyard/contracts/typed-line";
import { CliError, describeFailure } from "../cli-error.ts";
import { EXIT, exitCodeOf, type ExitCode } from "../exit-codes.ts";
import type { RunEnd } from "../follow-run.ts";
import { modelLabel } from "../model-label.ts";
import { printable, printableLine } from "../printable.ts";
import { runIdOf } from "../run-id.ts";
import { followToEnd } from "../run-story.ts";
import { Decider, type Person } from "./decide.ts";
import { Transcript, type Screen } from "./transcript.ts";

/** A line of the chat that begins with a slash. */
export interface SlashCommand {
  readonly name: string;
  readonly arguments: string;
  readonly meaning: string;
  readonly run: (chat: Conversation, rest: string) => Promise<void> | void;
}

export interface Names {
  readonly skills: readonly {
    readonly name: string;
    readonly userInvocable: boolean;
    readonly argumentHint: string | null;
  }[];
  readonly agents: readonly AgentSummary[];
}

/** The terminal functions that a conversation needs. */
export interface ConversationIo {
  /** Aborts when the command is stopped: its run is no longer followed, and continues. */
  readonly signal: AbortSignal;
  readonly screen: Screen;
  readonly person: Person | null;
  /** Text is streamed. */
  readonly isLive: boolean;
  readonly withTerminal: <T>(use: () => Promise<T>) => Promise<T>;
  /** True for a name that `shell` takes as the first word. */
  readonly isShellCommand: (name: string) => boolean;
  readonly shell: (words: readonly string[]) => Promise<void>;
  /** The output for the answer when only the answer is wanted. */
  readonly answer?: (text: string) => void;
  readonly readLine: (prompt: string) => Promise<string | null>;
}

/** A session of which each line is a run, or a command that is answered here. */
export class Conversation {
  readonly bus: Bus;
  readonly key: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #io: ConversationIo;
  readonly #commands: readonly SlashCommand[];
  agent: string;
  model: string | null;
  /** Skills that this conversation does without. */
  skillsOff: readonly string[];
  hasBegun: boolean;
  costUsd = 0;
  /** The run that is under way. */
  runningId: string | null = null;
  /** The run that was still under way when the command was stopped. */
  leftRunId: string | null = null;
  isLeaving = false;
  lastCode: ExitCode = EXIT.ok;
  lastEnd: RunEnd | null = null;
  #started = Promise.withResolvers<void>();
  #isCancelling = false;
  #known: Names = { skills: [], agents: [] };

  constructor(
    bus: Bus,
    about: {
      readonly key: string;
      readonly agent: string;
      readonly model: string | null;
      readonly skillsOff: readonly string[];
      readonly hasBegun: boolean;
      readonly commands: readonly SlashCommand[];
      readonly env: NodeJS.ProcessEnv;
    },
    io: ConversationIo,
  ) {
    this.bus = bus;
    this.#io = io;
    this.key = about.key;
    this.agent = about.agent;
    this.skillsOff = about.skillsOff;
    this.model = about.model;
    this.hasBegun = about.hasBegun;
    this.#commands = about.commands;
    this.env = about.env;
  }

  say(text: string): void {
    this.#io.screen.write(`${text}\n`);
  }

  shell(words: readonly string[]): Promise<void> {
    return this.#io.shell(words);
  }

  withTerminal<T>(use: () => Promise<T>): Promise<T> {
    return this.#io.withTerminal(use);
  }

  async linesToDot(): Promise<string> {
    this.say("Several lines; a single dot ends them.");
    const lines: string[] = [];
    for (;;) {
      // Lines are read one at a time, as they are typed.
      const line = await this.#io.readLine("… ");
      if (line === null || line === ".") return lines.join("\n");
      lines.push(line);
    }
  }

  /** Resolves when the next run begins. */
  nextRun(): Promise<void> {
    this.#started = Promise.withResolvers<void>();
    return this.#started.promise;
  }

  /** Refreshes the names, so that recent imports are completed, too. */
  async names(): Promise<Names> {
    const importer = client(this.bus, { listSkills, listAgents });
    const [{ skills }, { agents }] = await Promise.all([
      importer.listSkills({}),
      importer.listAgents({}),
    ]);
    this.#known = { skills, agents };
    return this.#known;
  }

  /** Completions for the line that is being typed. */
  candidates(line: string): string[] {
    const commands = this.#commands.map(({ name }) => `/${name}`);
    return [...commands, ...namingLines(this.#known, this.skillsOff)].filter((candidate) =>
      candidate.startsWith(line),
    );
  }

  /** Executes a line. A failure is printed, and the conversation continues. */
  async take(line: string): Promise<void> {
    if (line.trim() === "") return;
    try {
      await (line.startsWith("/") ? this.#command(line) : this.message({ message: line }));
    } catch (error) {
      if (this.#io.signal.aborted) return;
      const { message, hint, exitCode } = describeFailure(error);
      this.say(`${this.#io.screen.paint("red", "error:")} ${printable(message)}`);
      if (hint !== null) this.say(`  → ${printable(hint)}`);
      this.lastCode = exitCode;
    }
  }

  /** Says something; resolves when the run that answers has ended. */
  async message(said: { readonly message: string; readonly skill?: string }): Promise<void> {
    if (this.runningId !== null) return this.#interject(said);
    const runId = runIdOf(Date.now(), randomBytes(10));
    this.runningId = fullRunId(this.bus.user, runId);
    this.#isCancelling = false;
    this.#started.resolve();
    const { screen, person, isLive } = this.#io;
    const transcript = new Transcript(screen);
    const print = (line: string): void => {
      transcript.end();
      screen.write(`${line}\n`);
    };
    const decider = new Decider(this.bus, {
      runId,
      person,
      print,
      paint: screen.paint,
      arePrinted: false,
    });
    const live = isLive
      ? subscribeLive(this.bus, runLive, runTokens(this.runningId), (text) => transcript.live(text))
      : null;
    try {
      await client(this.bus, { sendToSession }).sendToSession({
        session: this.key,
        ...said,
        agent: this.agent,
        runId,
        ...(this.model === null ? {} : { model: this.model }),
        // Skills that were switched off before the first message.
        ...(this.hasBegun || this.skillsOff.length === 0 ? {} : { skillsOff: [...this.skillsOff] }),
      });
      this.hasBegun = true;
      const end = await followToEnd(this.bus, {
        runId,
        signal: this.#io.signal,
        onEvent: (event) => {
          transcript.event(event);
          decider.onEvent(event);
        },
      });
      this.lastEnd = end;
      this.lastCode = this.#conclude(transcript, end);
      if (end === null) this.leftRunId = this.runningId;
    } finally {
      live?.stop();
      decider.close();
      transcript.end();
      this.costUsd += transcript.costUsd;
      this.runningId = null;
    }
  }

  /** Cancels the current run; false when there is none to cancel. */
  async cancel(): Promise<void> {
    const runId = this.runningId;
    if (runId === null) return this.say("no run is under way");
    this.#isCancelling = true;
    await client(this.bus, { requestCancel }).requestCancel({
      runId,
      reason: "stopped in the chat",
    });
  }

  get isCancelling(): boolean {
    return this.runningId !== null && this.#isCancelling;
  }

  leave(): void {
    this.isLeaving = true;
  }

  #conclude(transcript: Transcript, end: RunEnd | null): ExitCode {
    if (end === null) return EXIT.interrupted;
    if (end.end === "finished") {
      if (this.#io.answer === undefined) transcript.answer(end.output);
      else this.#io.answer(end.output);
      return EXIT.ok;
    }
    const isCancelled = end.end === "cancelled";
    if (!transcript.hasEnd)
      transcript.line(`■ ${end.end}: ${end.message}`, isCancelled ? "yellow" : "red");
    if (isCancelled) return EXIT.interrupted;
    return exitCodeOf(end.code) === EXIT.notFound ? EXIT.notFound : EXIT.failed;
  }

  /** Text that is typed while a run works is for that run. */
  async #interject(said: { readonly message: string; readonly skill?: string }): Promise<void> {
    const { placed } = await client(this.bus, { sendToSession }).sendToSession({
      session: this.key,
      ...said,
      agent: this.agent,
      onBusy: "steer",
    });
    this.say(
      placed === "steered"
        ? "the run gets it before its next step"
        : "it is said when the run has ended",
    );
  }

  /** Turns a skill off or on for the conversation. A run that is under way keeps the skills that it began with. */
  async #switchSkill({
    isOn,
    name,
  }: {
    readonly isOn: boolean;
    readonly name: string;
  }): Promise<void> {
    const { skillsOff } = this;
    if (skillsOff.includes(name) !== isOn)
      return this.say(`Skill ${printableLine(name)} is ${isOn ? "on" : "off"} already.`);
    const changed = isOn ? skillsOff.filter((off) => off !== name) : [...skillsOff, name];
    if (this.hasBegun)
      await client(this.bus, { patchSession }).patchSession({
        session: this.key,
        skillsOff: changed,
      });
    this.skillsOff = changed;
    this.say(`Skill ${name} is ${isOn ? "on again" : "off in this conversation"}.`);
  }

  async #command(line: string): Promise<void> {
    const [, name = "", rest = ""] = /^\/([^\s/]+)(?:\s+([^]*))?$/.exec(line) ?? [];
    const own = this.#commands.find((command) => command.name === name.toLowerCase());
    if (own !== undefined && !NAMING.has(own.name)) return own.run(this, rest);
    const known = await this.names();
    const typed = readTypedLine(line, known);
    switch (typed.kind) {
      case "text":
        return this.message({ message: typed.text });
      case "skill":
        this.say(`[Invoking skill: ${typed.skill}]`);
        // A message has at least one character; blanks are not an argument.
        return this.message({
          message: typed.arguments === "" ? " " : typed.arguments,
          skill: typed.skill,
        });
      case "skill-switch":
        return this.#switchSkill({ name: typed.skill, isOn: typed.isOn });
      case "agent":
        return this.#switchAgent(typed.agent, known);
      case "agents":
        return this.shell(["agents", "list"]);
      case "skills":
        return this.shell(["skills", "list"]);
      case "unknown":
        if (typed.what === "command" && !typed.message.includes("is for agents alone")) {
          if (this.#io.isShellCommand(name)) return this.shell([name, ...splitWords(rest)]);
        }
        throw new CliError("usage", typed.message);
      default:
        throw new CliError("usage", `/${name} is not for here`, {
          hint: "see the commands with: /help",
        });
    }
  }

  async #switchAgent(agent: string, { agents }: Names): Promise<void> {
    this.agent = agent;
    if (this.hasBegun)
      await client(this.bus, { patchSession }).patchSession({ session: this.key, agent });
    const model = this.model ?? agents.find(({ name }) => name === agent)?.model ?? null;
    this.say(
      `Switched to agent: ${agent} (${model === null ? "config default" : modelLabel(model)})`,
    );
  }
}

/** Commands that name a skill or an agent, which is looked up. */
const NAMING = new Set(["skill", "use", "agent"]);

/** Words as a shell would split them [D27]. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"),
  );
}

/** The session of that key; null when it has no messages yet. */
export async function sessionOf(bus: Bus, session: string) {
  try {
    return (await client(bus, { getSession }).getSession({ session })).session;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unknown_session") return null;
    throw error;
  }
}
