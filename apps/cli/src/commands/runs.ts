import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { nearestName } from "@switchyard/contracts/nearest-name";
import { runRetried } from "@switchyard/contracts/agent-runner/run-events";
import {
  getRun,
  listRuns,
  requestCancel,
  retryRun,
  type RunOrder,
  type RunSummary,
} from "@switchyard/contracts/agent-runner/runs";
import { answerOfRun } from "../answer-of-run.ts";
import { findBus, withBus } from "../bus-session.ts";
import { CliError, hintOf } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { fieldLines } from "../field-lines.ts";
import { followRun } from "../follow-run.ts";
import { checkRunName, namedRun } from "../named-run.ts";
import { printable, printableLine } from "../printable.ts";
import { limitsOf, type LimitOptions } from "../run-limits.ts";
import { factsOf } from "../run-facts.ts";
import { runSpans, spanLines } from "../run-spans.ts";
import { filterTexts, runFilterOf, type RunFilterOptions } from "../run-filters.ts";
import { noteNothing, printStory } from "../run-story.ts";
import { isWhole, noteMore, pageOf, type PageOptions } from "../list-pages.ts";
import { timeText, type Times } from "../quantities.ts";
import { noteStops, stopsInForce } from "../stops-in-force.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped, type Stop } from "../until-stopped.ts";

interface ListOptions extends PageOptions, Times, RunFilterOptions {
  readonly json?: true;
  readonly sort?: RunOrder;
}

export async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  const filter = runFilterOf(options);
  const { page, stops, why } = await withBus(await findBus(terminal.env), async (bus) => {
    const [found, inForce] = await Promise.all([
      client(bus, { listRuns }).listRuns({
        ...pageOf(options),
        ...filter,
        ...(options.sort === undefined ? {} : { sort: options.sort }),
      }),
      stopsInForce(bus),
    ]);
    const isEmpty = found.runs.length === 0 && isWhole(options, found.next);
    return { page: found, stops: inForce, why: isEmpty ? await whyNoRuns(bus, options) : null };
  });
  const { runs, next } = page;
  noteStops(terminal, stops);
  if (options.json) return writeJson(terminal, { runs, next });
  if (why !== null) return terminal.note(why);
  const lines = tableLines(
    [
      { title: "RUN", value: (run) => run.runId },
      { title: "AGENT", value: (run) => run.agent },
      { title: "STATUS", value: statusText },
      { title: "STEPS", value: (run) => String(run.steps), align: "right", isSpare: true },
      { title: "TOOLS", value: (run) => String(run.toolCalls), align: "right", isSpare: true },
      { title: "MODEL", value: (run) => printableLine(run.model), maxWidth: 40, isSpare: true },
      { title: "BY", value: (run) => run.requester, isSpare: true },
      { title: "CREATED", value: (run) => timeText(run.createdAt, options), isSpare: true },
    ],
    runs,
  );
  for (const line of lines) terminal.out(line);
  noteMore(terminal, next);
}

/** States why the list is empty: there are no runs, or none that the filters let through. */
async function whyNoRuns(bus: Bus, options: ListOptions): Promise<string> {
  const asked = client(bus, { listRuns, listAgents });
  const { agent } = options;
  const filters = filterTexts(options);
  if (filters.length === 0 || (await asked.listRuns({ limit: 1 })).runs.length === 0)
    return 'no runs yet; start one with: ./yard run AGENT "…"';
  const names = (await asked.listAgents({})).agents.map(({ name }) => name);
  if (agent !== undefined && !names.includes(agent)) {
    const meant = nearestName(agent, names);
    const known =
      meant === null ? "see the agents with: ./yard agents list" : `did you mean ${meant}?`;
    return printableLine(`no run is of agent ${agent}, and no agent has this name; ${known}`);
  }
  return printableLine(`no run has ${filters.join(", ")}; see all with: ./yard runs list`);
}

/** `waiting: stopped`, `waiting: approval, child`, `running: suspended`. */
function statusText({ status, waitsFor = [], suspended }: RunSummary): string {
  const why = suspended === undefined ? waitsFor : ["suspended"];
  return why.length === 0 ? status : `${status}: ${why.join(", ")}`;
}

export async function show(
  terminal: Terminal,
  named: string,
  options: { json?: true },
): Promise<void> {
  checkRunName(named);
  const seen: StoredEvent[] = [];
  const { run } = await withBus(await findBus(terminal.env), async (bus) => {
    const runId = await namedRun(bus, named);
    const found = await client(bus, { getRun }).getRun({ runId });
    await followRun(bus, { runId, stopAtEnd: true, onEvent: (event) => seen.push(event) });
    return found;
  });
  const timeline = runSpans(seen);
  if (options.json) return writeJson(terminal, { run, timeline });
  for (const line of fieldLines(factsOf(run))) terminal.out(line);
  if (timeline.length > 0) for (const line of ["", ...spanLines(timeline)]) terminal.out(line);
  if (run.output !== null) terminal.out(`\n${printable(run.output)}`);
}

/** The stored events of a run; with `--follow` also those to come. */
export async function events(
  terminal: Terminal,
  named: string,
  options: { json?: true; follow?: true; wait: number },
): Promise<ExitCode> {
  checkRunName(named);
  const story = printStory(terminal, { json: options.json ?? false, to: "stdout" });
  let seen = 0;
  const follow = async (bus: Bus, { signal }: Stop): Promise<unknown> => {
    const runId = await namedRun(bus, named);
    return followRun(bus, {
      runId,
      stopAtEnd: options.follow !== true,
      signal,
      queueWait: { seconds: options.wait, onNothing: () => noteNothing(terminal, runId) },
      onEvent: (event) => {
        seen += 1;
        story.onEvent(event);
      },
    });
  };
  return untilStopped(async (stop) => {
    try {
      await withBus(await findBus(terminal.env), (bus) => follow(bus, stop));
    } finally {
      story.end();
    }
    if (stop.reason !== null) return exitOfStop(stop.reason);
    if (seen > 0) return EXIT.ok;
    throw new CliError("unknown_run", `no events of run ${named} are stored`, {
      hint: "events are kept for as long as their run; see the runs with: ./yard runs list",
    });
  });
}

/** Cancels a run; `cancelled` comes as an event when the run has stopped. */
export async function cancel(
  terminal: Terminal,
  named: string,
  { json, reason }: { json?: true; reason?: string },
): Promise<ExitCode> {
  checkRunName(named);
  const { runId, outcome } = await withBus(await findBus(terminal.env), async (bus) => {
    const id = await namedRun(bus, named);
    const why = reason === undefined ? {} : { reason };
    const reply = await client(bus, { requestCancel }).requestCancel({ runId: id, ...why });
    return { runId: id, outcome: reply.outcome };
  });
  if (json) writeJson(terminal, { runId, outcome });
  else terminal.out(CANCEL_SAID[outcome]);
  if (outcome === "requested") terminal.note(`follow it with: ./yard runs tail ${runId}`);
  return outcome === "remembered" ? EXIT.notFound : EXIT.ok;
}

const CANCEL_SAID = {
  requested: "the run is being cancelled",
  remembered:
    "this run is unknown; if it begins within a day, it is cancelled at once (see the runs with: ./yard runs list)",
  ended: "the run had ended already; nothing happens",
} as const;

/** Retries a failed or cancelled run, and reports whether a runner accepted it. */
export async function retry(
  terminal: Terminal,
  named: string,
  options: LimitOptions & { json?: true },
): Promise<ExitCode> {
  checkRunName(named);
  const limits = limitsOf(options);
  const runId = await withBus(await findBus(terminal.env), async (bus) => {
    const id = await namedRun(bus, named);
    if (Object.keys(limits).length === 0) await refuseAtLimit(bus, id);
    const { sequence } = await publishCommand(bus, retryRun, { runId: id }, { limits });
    await answerOfRun(bus, { runId: id, sequence, answer: runRetried });
    return id;
  });
  if (options.json) writeJson(terminal, { runId, outcome: "retried" });
  else terminal.out("the run continues");
  terminal.note(`follow it with: ./yard runs tail ${runId}`);
  return EXIT.ok;
}

/** The limits that a run has used up; time is counted anew, and a repeated call is not certain. */
const COUNTED = /\b(?:maxSteps|maxToolCalls|maxTokens|maxCostUsd)\b/;

/** With the limit that it failed at, a run would fail at once and again. */
async function refuseAtLimit(bus: Bus, runId: string): Promise<void> {
  // Without a reply the check is left to the runner, which refuses the command itself.
  const found = await client(bus, { getRun })
    .getRun({ runId })
    .catch(() => null);
  const failure = found?.run.failure ?? null;
  if (failure?.code !== "limit_exceeded" || !COUNTED.test(failure.message)) return;
  const hint = (hintOf(failure) ?? "").replace("RUN", runId);
  throw new CliError(failure.code, `the run failed at a limit: ${failure.message}`, { hint });
}
