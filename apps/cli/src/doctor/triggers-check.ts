import { readFile } from "node:fs/promises";
import { readTriggers, TriggersFileError } from "@switchyard/project/triggers/triggers-file";
import { printableLine } from "../printable.ts";
import { checked, failed, ok, skipped, type Check } from "./check.ts";

const ID = "triggers.yaml";

/** Checks that the scheduler would accept the project's triggers, also while nothing runs. */
export async function checkTriggers(file: string): Promise<Check> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => error);
  const fix = `correct ${file}; docs/schedules.md#triggers describes its contents`;
  return checked(ID, fix, async () => {
    if (text instanceof Error) {
      if (text.code !== "ENOENT") throw text;
      return skipped(ID, "the project has no triggers");
    }
    try {
      const { declarations } = readTriggers(text, ID);
      return ok(ID, `${declarations.length} triggers are declared in ${file}`);
    } catch (error) {
      if (!(error instanceof TriggersFileError)) throw error;
      const [first = "", ...more] = error.problems;
      const rest = more.length === 0 ? "" : `; and ${more.length} more`;
      return failed(ID, printableLine(`${first}${rest}`), fix);
    }
  });
}
