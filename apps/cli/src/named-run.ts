import { RunId } from "@switchyard/contracts/ids";
import { CliError } from "./cli-error.ts";

/** The run that somebody named; what can be no run's id is the person's mistake. */
export function namedRun(text: string): string {
  if (RunId.safeParse(text).success) return text;
  throw new CliError("usage", `${JSON.stringify(text)} is not a valid run id`, {
    hint: "see the runs with: ./yard runs list",
  });
}
