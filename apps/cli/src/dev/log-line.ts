import { printable, printableLine } from "../printable.ts";

/** One line of a service's output: a pino record, or text that a library or Node.js itself printed. */
export type LogLine =
  | {
      readonly kind: "record";
      readonly time: Date;
      readonly level: LogLevel;
      /** The service's name in its log. */
      readonly service: string;
      readonly message: string;
      /** Reason of a warning or an error, and what to do about it. */
      readonly error: string | null;
      readonly hint: string | null;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: "text"; readonly text: string };

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

/** Fields that every line has, and those that the text shows in another place. */
const ENVELOPE = new Set([
  "level",
  "time",
  "pid",
  "hostname",
  "service",
  "instance",
  "msg",
  "err",
  "hint",
  "problems",
  "process",
]);

export function isLogLevel(value: string | undefined): value is LogLevel {
  return LEVELS.some((level) => level === value);
}

/** True when `level` is less severe than `than`: error is quieter than info. */
export function isQuieter(level: LogLevel, than: LogLevel): boolean {
  return LEVELS.indexOf(level) > LEVELS.indexOf(than);
}

/** Reads one line of a service's output. Anything that is not a pino record is text; it never throws. */
export function parseLogLine(line: string): LogLine {
  if (!line.startsWith("{")) return { kind: "text", text: line };
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: "text", text: line };
  }
  const record = value as Record<string, unknown>; // a text that starts with { parses to an object
  const level = LEVELS.find((name) => name === record["level"]);
  const time = new Date(String(record["time"]));
  if (level === undefined || typeof record["msg"] !== "string" || Number.isNaN(time.getTime()))
    return { kind: "text", text: line };
  return {
    kind: "record",
    time,
    level,
    service: textOf(record["service"]) ?? "",
    message: record["msg"],
    error: errorText(record["err"]),
    hint: textOf(record["hint"]),
    fields: Object.fromEntries(Object.entries(record).filter(([name]) => !ENVELOPE.has(name))),
  };
}

const MAX_VALUE = 160;

/** `server connected  server=files tools=14: spawn ENOENT`: message, facts and reason on one line. */
export function logText(line: LogLine): string {
  if (line.kind === "text") return printableLine(line.text);
  const facts = Object.entries(line.fields).map(([name, value]) =>
    name === "reason"
      ? `reason=${printable(JSON.stringify(value) ?? "")}`
      : `${name}=${valueText(value)}`,
  );
  const text = [printableLine(line.message), facts.join(" ")].filter((part) => part !== "");
  const error = line.error === null ? "" : `: ${printable(line.error)}`;
  const hint = line.hint === null ? "" : ` → ${printable(line.hint)}`;
  return text.join("  ") + error + hint;
}

/** `12:01:02`, in local time. */
export function clockText(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

function errorText(err: unknown): string | null {
  if (typeof err === "string") return err;
  if (typeof err !== "object" || err === null || !("message" in err)) return null;
  return String(err.message);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function valueText(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return printableLine(value, MAX_VALUE);
  return printableLine(JSON.stringify(value) ?? String(value), MAX_VALUE);
}
