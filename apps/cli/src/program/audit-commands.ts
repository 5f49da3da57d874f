import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

const SINCE = "records stored from then on: a time, or how long ago like 30m, 12h, 7d";

const load = () => import("../commands/audit.ts");

/** `yard audit`: who decided, approved and did what. It needs the key of the user auditor. */
export function addAuditCommands(program: Command, perform: Perform): void {
  const audit = program
    .command("audit")
    .description("who decided, approved and did what; needs the auditor's key");
  audit
    .command("tail")
    .description("the records of the last minutes, then each one as it comes")
    .option("--since <time>", SINCE)
    .option("--once", "end after those that there are")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).tail(terminal, options)),
    );
  audit
    .command("verify")
    .description("check that nothing was changed or taken out, and that every call was allowed")
    .option("--since <time>", SINCE)
    .option("--file <path>", "check a file that yard audit export has written instead")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).verify(terminal, options)),
    );
  audit
    .command("export")
    .description("all records as lines of JSON, each with its hash and the one before")
    .option("--since <time>", SINCE)
    .option("--until <time>", "records stored until then")
    .option("--json", "is its form anyway")
    .action((options) =>
      perform({ ...options, json: true }, async (terminal) =>
        (await load()).exportRecords(terminal, options),
      ),
    );
}

/** `yard policy replay`. */
export function addReplayCommand(policy: Command, perform: Perform): void {
  policy
    .command("replay")
    .description("decisions of the past against other rules; needs the auditor's key")
    .option("--bundle <path>", "a policy file or a directory; without it the one in force")
    .option("--since <time>", SINCE)
    .option("--until <time>", "records stored until then")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/policy-replay.ts")).replay(terminal, options),
      ),
    );
}
