import { printableLine } from "../printable.ts";
import { writeJsonLine, type Style, type Terminal } from "../terminal.ts";
import { clockText, isQuieter, logText, parseLogLine, type LogLevel } from "./log-line.ts";
import type { StackReport } from "./stack-report.ts";

const NAME_WIDTH = 8;
const NAME_STYLES: readonly Style[] = ["cyan", "magenta", "blue", "green", "yellow"];
const OURS = "yard";

/** One log of all services for people: time, service, message; warnings and errors stand out. */
export function readableLog(terminal: Terminal, now: () => Date = () => new Date()): StackReport {
  const write = (service: string, time: Date, text: string, level: LogLevel = "info"): void =>
    terminal.out(mergedLine({ service, time, text, level }, terminal.paintOut));
  return {
    step: (text) => write(OURS, now(), text),
    detail: (text) => write(OURS, now(), text, "debug"),
    warn: (text) => write(OURS, now(), text, "warn"),
    output(service, line) {
      if (line.trim() === "") return;
      const parsed = parseLogLine(line);
      if (parsed.kind === "text") return write(service, now(), logText(parsed));
      write(service, parsed.time, logText(parsed), parsed.level);
    },
  };
}

/** The same as JSON lines: records of services as they are, everything else wrapped. */
export function jsonLog(terminal: Terminal, now: () => Date = () => new Date()): StackReport {
  const write = (service: string, level: LogLevel, msg: string): void =>
    writeJsonLine(terminal, { level, time: now().toISOString(), service, msg });
  return {
    step: (text) => write(OURS, "info", text),
    detail: (text) => write(OURS, "debug", text),
    warn: (text) => write(OURS, "warn", text),
    output(service, line) {
      if (line.trim() === "") return;
      if (parseLogLine(line).kind === "record") terminal.out(line);
      else write(service, "info", line);
    },
  };
}

/** Leaves out the records of services that are below a level; lines of `yard dev` itself stay. */
export function fromLevel(level: LogLevel | "silent", report: StackReport): StackReport {
  return {
    ...report,
    output(service, line) {
      if (level === "silent") return;
      const parsed = parseLogLine(line);
      if (parsed.kind === "record" && isQuieter(level, parsed.level)) return;
      report.output(service, line);
    },
  };
}

/** `12:01:02 broker    server connected  server=files tools=14`. */
export function mergedLine(
  { service, time, text, level }: { service: string; time: Date; text: string; level: LogLevel },
  paint: (style: Style, text: string) => string,
): string {
  const name = paint(styleOf(service), printableLine(service).padEnd(NAME_WIDTH));
  return `${paint("dim", clockText(time))} ${name} ${emphasised(text, level, paint)}`;
}

function emphasised(
  text: string,
  level: LogLevel,
  paint: (style: Style, text: string) => string,
): string {
  switch (level) {
    case "trace":
    case "debug":
      return paint("dim", text);
    case "info":
      return text;
    case "warn":
      return paint("yellow", `warning: ${text}`);
    case "error":
    case "fatal":
      return paint("red", `${level}: ${text}`);
    default:
      return level satisfies never;
  }
}

/** A service keeps its colour; replicas of one service share theirs. */
function styleOf(service: string): Style {
  if (service === OURS) return "bold";
  const stem = service.replace(/-\d+$/, "");
  const sum = Array.from(stem).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return NAME_STYLES[sum % NAME_STYLES.length] ?? "cyan";
}
