import type { Bus } from "@switchyard/bus/bus";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { Decider } from "../chat/decide.ts";
import { terminalPerson } from "../chat/terminal-person.ts";
import { CliError, hintOf, reportFailure } from "../cli-error.ts";
import { EXIT, exitCodeOf, type ExitCode } from "../exit-codes.ts";
import type { RunEnd } from "../follow-run.ts";
import { printable } from "../printable.ts";
import { startAndFollow, type RunStart } from "../run-story.ts";
import type { Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";

export interface Start extends RunStart {
  readonly json: boolean;
}

/** Extra time for a run that has begun to publish that it reached its time limit. */
const GRACE_MS = 1_000;

/** Starts a run and prints its timeline until it ends, the person stops following it, or its time is over. */
export function startAndWait(bus: Bus, terminal: Terminal, start: Start): Promise<ExitCode> {
  const { runId, limits } = start.command;
  const { json } = start;
  const timeoutMs = limits?.timeoutMs ?? null;
  return runToEnd(bus, { terminal, runId, json, timeoutMs, graceMs: GRACE_MS }, (followed) =>
    startAndFollow(bus, { ...start, ...followed, terminal, live: true }),
  );
}

/**
 * Follows a run to its end and shows it, with its prompts to the person, unless the person stops following or the time is over. A
 * run that has begun gets the grace on top of the time, because its own last event may be in flight.
 */
export async function runToEnd(
  bus: Bus,
  about: {
    terminal: Terminal;
    runId: string;
    json: boolean;
    timeoutMs: number | null;
    graceMs: number;
  },
  follow: (followed: {
    signal: AbortSignal;
    onEvent: (event: StoredEvent) => void;
  }) => Promise<RunEnd | null>,
): Promise<ExitCode> {
  const { terminal, runId, json, timeoutMs, graceMs } = about;
  return untilStopped(async (stop) => {
    let hasBegun = false;
    // A person is prompted for waits here; without a terminal the command to decide with is printed.
    const { note: print, paintNote: paint } = terminal;
    const decider = json
      ? null
      : new Decider(bus, { runId, person: terminalPerson(), print, paint, arePrinted: true });
    const onEvent = (event: StoredEvent): void => {
      hasBegun = true;
      decider?.onEvent(event);
    };
    const giveUp = (): void => stop.stop("timeout");
    const atLimit = (): void => {
      if (!hasBegun) giveUp();
      else timer = setTimeout(giveUp, graceMs);
    };
    let timer = timeoutMs === null ? undefined : setTimeout(atLimit, timeoutMs);
    try {
      const end = await follow({ signal: stop.signal, onEvent });
      if (end !== null) return conclude(terminal, end, json);
    } finally {
      clearTimeout(timer);
      decider?.close();
    }
    const what =
      stop.reason === "timeout" && !hasBegun
        ? "still queued: no runner took the run yet; it begins when one does"
        : "the run continues";
    if (stop.reason !== "closed")
      terminal.note(`no longer following; ${what}. See it with: ./yard runs show ${runId}`);
    return stop.reason === "timeout" && (decider?.pending ?? 0) > 0
      ? EXIT.pending
      : exitOfStop(stop.reason);
  });
}

/** Shows the end of a run: the answer on stdout, a failure on stderr. */
export function conclude(terminal: Terminal, end: RunEnd, json: boolean): ExitCode {
  if (end.end === "finished") {
    if (!json) terminal.out(printable(end.output));
    return EXIT.ok;
  }
  const { code, message } = end;
  const hint = hintOf({ code });
  reportFailure(
    terminal,
    new CliError(code, `${WHAT_HAPPENED[end.end]}: ${message}`, hint === null ? {} : { hint }),
    json,
  );
  // A failed tool or policy is part of a failed run here, not the reason this command failed.
  const exitCode = exitCodeOf(code);
  return exitCode === EXIT.notFound ? exitCode : EXIT.failed;
}

const WHAT_HAPPENED = {
  failed: "the run failed",
  cancelled: "the run was cancelled",
  rejected: "the command was refused",
} as const;
