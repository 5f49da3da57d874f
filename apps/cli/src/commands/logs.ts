import { open, stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { CliError } from "../cli-error.ts";
import { olderLog } from "../dev/log-file.ts";
import { isQuieter, parseLogLine, type LogLevel } from "../dev/log-line.ts";
import { readableLog } from "../dev/merged-log.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findRunningInstance } from "../instance-record.ts";
import { stateDirectory } from "../locations.ts";
import type { Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";

interface Options {
  readonly tail: number;
  readonly level?: LogLevel;
  readonly follow?: true;
  readonly json?: true;
}

/** Interval at which the file is polled. */
const LOOK_MS = 200;
/** Interval at which the instance is checked. */
const ALIVE_MS = 2_000;

/** `yard logs`: the merged log of `yard dev` on this machine, of all services or of one with its replicas. */
export async function logs(
  terminal: Terminal,
  service: string | undefined,
  options: Options,
): Promise<ExitCode> {
  const { logFile, instanceFile } = stateDirectory(terminal.env);
  const wanted = (line: string): boolean => isWanted(line, { service, level: options.level });
  const show = printer(terminal, options.json === true);
  const { lines, end, services } = await lastLines(logFile, { wanted, tail: options.tail });
  if (lines.length === 0 && service !== undefined && !hasService(services, service)) {
    throw new CliError("unknown_service", `${service} has written nothing to the log`, {
      hint: `these have: ${[...services].toSorted().join(", ")}`,
    });
  }
  for (const line of lines) show(line);
  if (lines.length === 0 && options.follow === undefined) terminal.note("no line fits");
  if (options.follow === undefined) return exitOfStop(null);
  return untilStopped(async (stop) => {
    const from = { file: logFile, position: end };
    for await (const line of appended(from, { signal: stop.signal, instanceFile }))
      if (wanted(line)) show(line);
    if (stop.reason === null) terminal.note("yard dev does not run any more");
    return exitOfStop(stop.reason);
  });
}

function printer(terminal: Terminal, json: boolean): (line: string) => void {
  if (json) return (line) => terminal.out(line);
  const log = readableLog(terminal);
  return (line) => log.output(serviceOf(line) ?? "yard", line);
}

function isWanted(
  line: string,
  only: { service: string | undefined; level: LogLevel | undefined },
): boolean {
  const parsed = parseLogLine(line);
  if (parsed.kind === "text") return false;
  if (only.level !== undefined && isQuieter(only.level, parsed.level)) return false;
  return only.service === undefined || isOf(serviceOf(line), only.service);
}

function serviceOf(line: string): string | null {
  const { process: name } = JSON.parse(line) as { process?: unknown }; // a record: parseLogLine has read it
  return typeof name === "string" ? name : null;
}

/** `runner` names each of `runner-1`, `runner-2`. */
function isOf(service: string | null, wanted: string): boolean {
  return service === wanted || service?.replace(/-\d+$/, "") === wanted;
}

function hasService(services: ReadonlySet<string>, wanted: string): boolean {
  return [...services].some((service) => isOf(service, wanted));
}

interface Last {
  readonly lines: readonly string[];
  /** The size of the file when it was read, in bytes. */
  readonly end: number;
  readonly services: ReadonlySet<string>;
}

async function lastLines(
  file: string,
  { wanted, tail }: { wanted: (line: string) => boolean; tail: number },
): Promise<Last> {
  const lines: string[] = [];
  const services = new Set<string>();
  let end = 0;
  let isThere = false;
  for (const path of [olderLog(file), file]) {
    const bytes = await contentOf(path);
    if (bytes === null) continue;
    isThere = true;
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
    if (path === file) end = whole.length;
    for (const line of whole.toString("utf8").split("\n")) {
      if (parseLogLine(line).kind === "text") continue;
      services.add(serviceOf(line) ?? "yard");
      if (wanted(line)) lines.push(line);
      if (lines.length > tail) lines.shift();
    }
  }
  if (isThere) return { lines, end, services };
  throw new CliError("file_missing", "there is no log here: yard dev writes it", {
    hint: "start ./yard dev; services elsewhere log to where they run, such as: docker compose logs policy",
  });
}

async function contentOf(path: string): Promise<Buffer | null> {
  const file = await open(path).catch(() => null);
  if (file === null) return null;
  await using opened = file;
  return opened.readFile();
}

/** Lines that are added to a file, also after it was replaced by a new one. Ends at the signal, and when `yard dev` is gone. */
async function* appended(
  start: { readonly file: string; readonly position: number },
  { signal, instanceFile }: { signal: AbortSignal; instanceFile: string },
): AsyncGenerator<string> {
  let { position } = start;
  let lookedAt = Date.now();
  while (!signal.aborted) {
    const size = (await stat(start.file).catch(() => null))?.size ?? 0;
    if (size < position) position = 0;
    if (size > position) {
      await using file = await open(start.file);
      const { bytesRead, buffer } = await file.read({
        buffer: Buffer.alloc(size - position),
        position,
      });
      // An incomplete last line is read again with its rest.
      const whole = buffer.subarray(0, buffer.lastIndexOf(0x0a, bytesRead - 1) + 1);
      position += whole.length;
      yield* whole.toString("utf8").split("\n").slice(0, -1);
    }
    if (Date.now() - lookedAt > ALIVE_MS) {
      const isOver = (await findRunningInstance(instanceFile)) === null;
      if (isOver && size === position) return;
      lookedAt = Date.now();
    }
    await pause(LOOK_MS, undefined, { signal }).catch(() => {}); // the loop sees the signal
  }
}
