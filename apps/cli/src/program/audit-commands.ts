import type { Command } from "commander";
import { JSON_TEXT, type Perform } from "./command-options.ts";

const SINCE = "records stored from then on: a time, or how long ago like 30m, 12h, 7d";

const load = () => import("../commands/audit.ts");
const loadExport = () => import("../commands/audit-export.ts");

/** `yard audit`: decisions, approvals and executions, with their authors. It needs the key of the user auditor. */
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
    .option("--key <path>", "public keys to check signatures with, as yard audit keys prints them")
    .option(
      "--sealed-since <time>",
      "records stored from then on need a seal; else from the first seal on",
    )
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).verify(terminal, options)),
    );
  audit
    .command("export")
    .description("all records as lines of JSON, with hashes and signatures to check them elsewhere")
    .option("--since <time>", SINCE)
    .option("--until <time>", "records stored until then")
    .option("--unsigned", "without signatures, for when the policy service is away")
    .option("--json", "is its form anyway")
    .action((options) =>
      perform({ ...options, json: true }, async (terminal) =>
        (await loadExport()).exportRecords(terminal, options),
      ),
    );
  audit
    .command("keys")
    .description("the public keys that sign the audit, a JWK set; keep a copy elsewhere")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadExport()).keys(terminal, options)),
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
