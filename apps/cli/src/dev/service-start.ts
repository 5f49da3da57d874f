import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { formatDuration } from "../quantities.ts";
import { logText, parseLogLine } from "./log-line.ts";

/** Time limits of a start. A loaded machine makes a start slow, and slow is not stuck. */
export interface StartTimeouts {
  /** A service that is not ready is given up when it has written nothing for this long, */
  readonly silenceMs: number;
  /** and in any case after this time. */
  readonly longestMs: number;
}

export const START_TIMEOUTS: StartTimeouts = { silenceMs: 60_000, longestMs: 300_000 };
const LAST_LINES = 8;

/** The state of a service that is starting. */
export interface Beginning {
  readonly givenUp: AbortSignal;
  /** The last lines that it wrote. */
  readonly lines: readonly string[];
  readonly ageMs: number;
  readonly silentMs: number;
  /** The last answer of its readiness probe. */
  readonly answer: string | null;
  /** `speaker` is the service that wrote the line, in a process with several; null: the process itself. */
  noteLine(line: string, speaker: string | null): void;
  polled(answer: string): void;
  end(): void;
}

/** Watches a start: it is given up when there is no sign of progress any more. */
export function beginning({ silenceMs, longestMs }: StartTimeouts): Beginning {
  const giveUp = new AbortController();
  const startedAt = performance.now();
  let heardAt = startedAt;
  let answer: string | null = null;
  const lines: string[] = [];
  const silence = setTimeout(() => giveUp.abort(), silenceMs);
  const longest = setTimeout(() => giveUp.abort(), longestMs);
  return {
    givenUp: giveUp.signal,
    lines,
    get ageMs() {
      return performance.now() - startedAt;
    },
    get silentMs() {
      return performance.now() - heardAt;
    },
    get answer() {
      return answer;
    },
    noteLine(line, speaker) {
      heardAt = performance.now();
      silence.refresh();
      const text = logText(parseLogLine(line));
      lines.push(speaker === null ? text : `${speaker}: ${text}`);
      if (lines.length > LAST_LINES) lines.shift();
    },
    polled(text) {
      answer = text;
    },
    end() {
      clearTimeout(silence);
      clearTimeout(longest);
    },
  };
}

/** For a start that was given up: which service, what it was doing, and its last lines. */
export function notReady(name: string, begun: Beginning): CliError {
  const { ageMs, silentMs, answer, lines } = begun;
  const doing =
    answer === null
      ? "it was still starting"
      : `it runs, but its readiness probe answered: ${answer}`;
  const silent = `it has written nothing for ${formatDuration(silentMs)}`;
  return new CliError(
    "timeout",
    `${name} was not ready after ${formatDuration(ageMs)}: ${doing}, and ${silent}${lastLines(lines)}`,
    {
      hint: "a machine that is only busy is ready at the next start; otherwise YARD_LOG_LEVEL=debug shows more of what the service does",
    },
  );
}

/** The error for a service that ended before it was ready. */
export function startFailure(
  name: string,
  { how, exitCode, lines }: { how: string; exitCode: number | null; lines: readonly string[] },
): CliError {
  const code = exitCode === EXIT.dependencyDown ? "disconnected" : "start_failed";
  return new CliError(code, `${name} did not start (${how})${lastLines(lines)}`, {
    hint:
      code === "disconnected"
        ? "look at this machine with: ./yard doctor"
        : "correct what its last lines name, and start again",
  });
}

function lastLines(lines: readonly string[]): string {
  if (lines.length === 0) return "; it wrote nothing";
  return `; its last lines:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
