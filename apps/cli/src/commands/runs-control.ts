import { randomBytes } from "node:crypto";
import { client } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { forkRun, resumeRun, steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import {
  runLimitsChanged,
  runStarted,
  runSteered,
} from "@switchyard/contracts/agent-runner/run-events";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { LetterId, listDeadRuns, redriveCommand } from "@switchyard/contracts/agent-runner/runs";
import { answerOfRun } from "../answer-of-run.ts";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { checkRunName, namedRun } from "../named-run.ts";
import { isWhole, noteMore, pageOf, type PageOptions } from "../list-pages.ts";
import { printableLine } from "../printable.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { runIdOf } from "../run-id.ts";
import { limitsOf, type LimitOptions } from "../run-limits.ts";
import { timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** Gives a run a message for its next step. */
export async function steer(
  terminal: Terminal,
  named: string,
  { message, json }: { readonly message: string; readonly json?: true },
): Promise<void> {
  checkRunName(named);
  const text = await textOrStandardInput(message);
  const runId = await withBus(await findBus(terminal.env), async (bus) => {
    const id = await namedRun(bus, named);
    const { sequence } = await publishCommand(bus, steerRun, { runId: id }, { message: text });
    await answerOfRun(bus, { runId: id, sequence, answer: runSteered });
    return id;
  });
  said(terminal, { runId, outcome: "steered" }, { json, text: "the run has the message" });
}

/** Resumes a run that waits at a limit. */
export async function resume(
  terminal: Terminal,
  named: string,
  options: LimitOptions & { readonly json?: true },
): Promise<void> {
  checkRunName(named);
  const runId = await withBus(await findBus(terminal.env), async (bus) => {
    const id = await namedRun(bus, named);
    const limits = limitsOf(options);
    const { sequence } = await publishCommand(bus, resumeRun, { runId: id }, { limits });
    await answerOfRun(bus, { runId: id, sequence, answer: runLimitsChanged });
    return id;
  });
  const text = "the run continues";
  said(terminal, { runId, outcome: "resumed" }, { json: options.json, text });
}

/** Starts a run from a step of another one. */
export async function fork(
  terminal: Terminal,
  named: string,
  options: LimitOptions & {
    readonly step: number;
    readonly input?: string;
    readonly agent?: string;
    readonly model?: string;
    readonly json?: true;
  },
): Promise<void> {
  checkRunName(named);
  const { step, input, agent, model } = options;
  const newRunId = runIdOf(Date.now(), randomBytes(10));
  const limits = limitsOf(options);
  const runId = await withBus(await findBus(terminal.env), async (bus) => {
    const id = await namedRun(bus, named);
    const command = {
      newRunId,
      fromStep: step,
      ...(input === undefined ? {} : { input }),
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined ? {} : { model }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
    };
    const { sequence } = await publishCommand(bus, forkRun, { runId: id }, command);
    // The new run's id is random, so its start can only answer this command.
    await answerOfRun(bus, {
      runId: newRunId,
      sequence,
      answer: runStarted,
      isAnswer: () => true,
    });
    return id;
  });
  said(terminal, { runId: newRunId, forkedFrom: runId }, { json: options.json, text: newRunId });
}

/** Lists commands that were given up because runners died of them. */
export async function dead(
  terminal: Terminal,
  options: { readonly json?: true } & PageOptions & Times,
): Promise<void> {
  const {
    runs,
    letters = [],
    next,
  } = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listDeadRuns }).listDeadRuns(pageOf(options)),
  );
  if (options.json) return writeJson(terminal, { runs, letters, next });
  if (runs.length + letters.length === 0 && isWhole(options, next))
    return terminal.note("nothing was given up");
  const rows = [
    ...runs.map(({ runId, agent, updatedAt, failure }) => {
      return { runId, what: `run of ${agent}`, at: updatedAt, failure };
    }),
    ...letters.map(({ runId, id, canRedrive, subject, sentAt, failure }) => {
      const name = canRedrive === true && id !== undefined ? id : runId;
      return { runId: name, what: subject, at: sentAt, failure };
    }),
  ];
  const lines = tableLines(
    [
      { title: "RUN OR LETTER", value: (row) => row.runId },
      { title: "WHAT", value: (row) => printableLine(row.what), maxWidth: 48 },
      { title: "SINCE", value: (row) => timeText(row.at, options) },
      {
        title: "REASON",
        value: ({ failure }) => printableLine(`${failure.code}: ${failure.message}`),
        maxWidth: 120,
      },
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
  noteMore(terminal, next);
  if (runs.length > 0) terminal.note("a run continues with: ./yard runs retry <run>");
  if (letters.some(({ canRedrive }) => canRedrive === true))
    terminal.note("a command is sent again with: ./yard runs redrive <letter>");
}

/** Requeues a command that was given up. */
export async function redrive(
  terminal: Terminal,
  named: string,
  { json }: { readonly json?: true },
): Promise<void> {
  const letterId = LetterId.safeParse(named);
  if (!letterId.success)
    throw new CliError("usage", `${named} is no letter; \`yard runs dead\` shows them`);
  const sent = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { redriveCommand }).redriveCommand({ letterId: letterId.data }),
  );
  const text =
    sent.outcome === "sent"
      ? "the command is on its way again"
      : "it was sent again before; nothing happens";
  said(terminal, sent, { json, text });
}

/** Lists the questions of runs to people. */
export async function questions(
  terminal: Terminal,
  options: { readonly json?: true } & PageOptions & Times,
): Promise<void> {
  const { questions: waiting, next } = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listQuestions }).listQuestions(pageOf(options)),
  );
  if (options.json) return writeJson(terminal, { questions: waiting, next });
  if (waiting.length === 0 && isWhole(options, next)) return terminal.note("no run asks anything");
  const lines = tableLines(
    [
      { title: "QUESTION", value: (row) => row.callId },
      { title: "AGENT", value: (row) => row.agent },
      { title: "UNTIL", value: (row) => timeText(row.until, options) },
      {
        title: "ASKS",
        value: ({ question, options: choices }) =>
          printableLine([question, ...choices.map((option) => `[${option}]`)].join(" ")),
        maxWidth: 120,
      },
    ],
    waiting,
  );
  for (const line of lines) terminal.out(line);
  noteMore(terminal, next);
  terminal.note("answer with: ./yard runs answer <question> <answer>");
}

/** Answers a question of a run; its name begins with the run's id. */
export async function answer(
  terminal: Terminal,
  callId: string,
  options: { readonly answer: string; readonly answerJson?: true; readonly json?: true },
): Promise<void> {
  const [runId = ""] = callId.split(":");
  const value = options.answerJson === true ? parsed(options.answer) : options.answer;
  const { outcome } = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { answerQuestion }).answerQuestion({ runId, callId, answer: value }),
  );
  const text =
    outcome === "accepted"
      ? "the run has the answer"
      : "it had this answer already; nothing happens";
  said(terminal, { runId, callId, outcome }, { json: options.json, text });
}

type Answer = Parameters<ReturnType<typeof answers>["answerQuestion"]>[0]["answer"];
const answers = (bus: Parameters<typeof client>[0]) => client(bus, { answerQuestion });

function parsed(text: string): Answer {
  try {
    return JSON.parse(text) as Answer; // the runner validates it against the question's schema
  } catch (error) {
    throw new CliError("usage", `--answer-json: the answer is not valid JSON: ${String(error)}`, {
      cause: error,
    });
  }
}

function said(
  terminal: Terminal,
  facts: Record<string, unknown> & { readonly runId: string },
  { json, text }: { readonly json: true | undefined; readonly text: string },
): void {
  if (json) return writeJson(terminal, facts);
  terminal.out(text);
  terminal.note(`follow it with: ./yard runs tail ${facts.runId}`);
}
