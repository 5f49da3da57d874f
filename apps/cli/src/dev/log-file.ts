import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { parseLogLine, type LogLevel } from "./log-line.ts";
import type { StackReport } from "./stack-report.ts";

/** A log that is longer becomes the older one, of which one is kept. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A report that also goes into a file for `yard logs`: one record of JSON in a line, with the process that it is of. A file that
 * cannot be written ends it with one warning.
 */
export function alsoInFile(file: string, report: StackReport): StackReport {
  const open = LogFile.open(file);
  if (open === null) {
    report.warn(`${file} cannot be written: there is no log for yard logs`);
    return report;
  }
  const write = (process: string, level: LogLevel, msg: string): void =>
    open.write(
      JSON.stringify({ process, level, time: new Date().toISOString(), service: process, msg }),
    );
  return {
    step(text) {
      report.step(text);
      write("yard", "info", text);
    },
    detail(text) {
      report.detail(text);
      write("yard", "debug", text);
    },
    warn(text) {
      report.warn(text);
      write("yard", "warn", text);
    },
    output(process, line) {
      report.output(process, line);
      if (line.trim() === "") return;
      const isRecord = parseLogLine(line).kind === "record";
      if (isRecord) open.write(`{"process":${JSON.stringify(process)},${line.slice(1)}`);
      else write(process, "info", line);
    },
  };
}

/** The log before the current one. */
export function olderLog(file: string): string {
  return `${file}.1`;
}

class LogFile {
  readonly #path: string;
  #descriptor: number | null;
  #bytes: number;

  static open(path: string): LogFile | null {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      return new LogFile(path);
    } catch {
      return null;
    }
  }

  private constructor(path: string) {
    this.#path = path;
    this.#descriptor = openSync(path, "a", 0o600);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  /** Written synchronously, so that the last lines before a crash are there, too. A full disk ends the log, not the services. */
  write(line: string): void {
    if (this.#descriptor === null) return;
    try {
      if (this.#bytes > MAX_BYTES) this.#startAnew(this.#descriptor);
      this.#bytes += writeSync(this.#descriptor, `${line}\n`);
    } catch {
      closeSync(this.#descriptor);
      this.#descriptor = null;
    }
  }

  #startAnew(descriptor: number): void {
    closeSync(descriptor);
    renameSync(this.#path, olderLog(this.#path));
    this.#descriptor = openSync(this.#path, "a", 0o600);
    this.#bytes = 0;
  }
}
