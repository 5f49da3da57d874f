import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { redactText } from "@switchyard/service/redact";

const MOST = 1_000;
const MAX_LINE = 2_000;

/** The lines that were typed, the newest first. */
export function readHistory(directory: string): string[] {
  try {
    return readFileSync(fileIn(directory), "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return []; // there is none yet, or it cannot be read: the chat works without
  }
}

/** Stores the lines for the next chat, readable by their owner alone. Lines with a secret or a leading blank are left out. */
export function writeHistory(directory: string, lines: readonly string[]): void {
  const kept = lines.filter(isKept).slice(0, MOST);
  const file = fileIn(directory);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const next = `${file}.${process.pid}`;
    writeFileSync(next, kept.map((line) => `${line}\n`).join(""), { mode: 0o600 });
    chmodSync(next, 0o600);
    renameSync(next, file);
  } catch {
    // A chat does not fail because its history cannot be kept.
  }
}

function isKept(line: string): boolean {
  if (line.trim() === "" || line.startsWith(" ") || line.length > MAX_LINE) return false;
  return !/[\n\r]/.test(line) && redactText(line) === line;
}

function fileIn(directory: string): string {
  return join(directory, "chat-history");
}
