import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export type LogRecord = Readonly<Record<string, unknown>>;

export interface LogRecords {
  readonly records: readonly LogRecord[];
  /** The first record of this kind, past or future. Rejects when the log ends without one. */
  readonly logged: (isWanted: (record: LogRecord) => boolean) => Promise<LogRecord>;
  /** States that no further record comes. */
  end(): void;
}

/** Reads the log of a process, which writes JSON lines and nothing else. `remark` is added to the error of a record that never came. */
export function readLogRecords(log: Readable, remark?: () => string): LogRecords {
  const collected = collectLogRecords(remark);
  createInterface({ input: log }).on("line", collected.onLine);
  return collected;
}

/** Collects the lines of a log, each of which is given to `onLine`. */
export function collectLogRecords(
  remark: () => string = () => "",
): LogRecords & { readonly onLine: (line: string) => void } {
  const records: LogRecord[] = [];
  const listeners = new Set<() => void>();
  const notify = () => listeners.forEach((listener) => listener());
  let hasEnded = false;
  return {
    onLine(line) {
      records.push(JSON.parse(line) as LogRecord); // services write objects alone
      notify();
    },
    records,
    logged: (isWanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = records.find((record) => isWanted(record));
          if (found === undefined && !hasEnded) return;
          listeners.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`never logged: ${JSON.stringify(records)} ${remark()}`));
        };
        listeners.add(look);
        look();
      }),
    end() {
      hasEnded = true;
      notify();
    },
  };
}
