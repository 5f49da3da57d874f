import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { ForeignSource } from "@switchyard/topology/topology";
import {
  readTriggers,
  TriggersFileError,
  type Triggers,
} from "@switchyard/project/triggers/triggers-file";
import { CliError } from "./cli-error.ts";

/**
 * The subjects that a file's triggers subscribe to, for the server's permissions. Throws a CliError that has a line for each
 * problem of the file.
 */
export async function triggerSources(file: string): Promise<readonly ForeignSource[]> {
  const { messages } = await readTriggersFile(file);
  return messages.map(({ source }) => source);
}

async function readTriggersFile(file: string): Promise<Triggers> {
  const text = await readFile(file, "utf8");
  try {
    return readTriggers(text, basename(file));
  } catch (error) {
    if (!(error instanceof TriggersFileError)) throw error;
    const hint = `correct ${file}; docs/schedules.md#triggers describes its contents`;
    throw new CliError("start_failed", error.message, { hint });
  }
}
