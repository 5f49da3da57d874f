import { Argument, type Command } from "commander";
import { JSON_TEXT, WIDE_TEXT, seconds, wholeNumber, type Perform } from "./command-options.ts";

const loadApprovals = () => import("../commands/approvals.ts");
const loadGrants = () => import("../commands/grants.ts");

/** `yard approvals`, `yard grants` and `yard revoke`. */
export function addApprovalCommands(program: Command, perform: Perform): void {
  addApprovals(program, perform);
  addGrants(program, perform);
  program
    .command("revoke")
    .description("deny every call of a run, agent, server or token key, those in flight too")
    .addArgument(new Argument("<kind>").choices(["run", "agent", "server", "key"]))
    .argument("<name>", "run id, agent, server, or the kid of a key")
    .option("--reason <text>", "shown with each denial")
    .option("--lift", "take it back")
    .option("--json", JSON_TEXT)
    // The id of a key is base64url, so one of 64 begins with a hyphen.
    .allowUnknownOption()
    .action((kind: string, name: string, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/revoke.ts")).revoke(terminal, { kind, name }, options),
      ),
    );
}

function addApprovals(program: Command, perform: Perform): void {
  const approvals = program.command("approvals").description("tool calls that wait for a person");
  approvals
    .command("list")
    .description("what waits for an approval")
    .option("--all", "also what was decided within a week")
    .option("--run <runId>", "of one run")
    .option("--limit <count>", "how many", wholeNumber(1, 500), 100)
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadApprovals()).list(terminal, options)),
    );
  approvals
    .command("show <id>")
    .description("one approval with its arguments and what changed since the last one")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await loadApprovals()).show(terminal, id, options)),
    );
  approvals
    .command("approve <id>")
    .description("let a waiting call happen, once or with others of its kind")
    .option("--session", "also later calls of the same tool in the same run or conversation")
    .option("--ttl <seconds>", "how long the session approval lasts", seconds)
    .option("--uses <count>", "how many calls it covers", wholeNumber(1, 10_000))
    .option("--arguments <file>", "make the call with the arguments in this JSON file instead")
    .option("--same <pointer...>", "JSON pointers of arguments that must stay the same")
    .option("--reason <text>", "kept with the decision")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await loadApprovals()).approve(terminal, id, options)),
    );
  approvals
    .command("deny <id>")
    .description("do not let a waiting call happen")
    .option("--reason <text>", "the agent gets it")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await loadApprovals()).deny(terminal, id, options)),
    );
  approvals
    .command("cancel <id>")
    .description("take a request for an approval back")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await loadApprovals()).cancel(terminal, id, options)),
    );
  approvals
    .command("watch")
    .description("an inbox: decide with the keys y, s and n; lines where there is no terminal")
    .option("--once", "print what waits now and end")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/approvals-watch.ts")).watch(terminal, options),
      ),
    );
}

function addGrants(program: Command, perform: Perform): void {
  const grants = program.command("grants").description("standing approvals");
  grants
    .command("list")
    .description("the standing approvals in force")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadGrants()).list(terminal, options)),
    );
  grants
    .command("revoke <id>")
    .description("end a standing approval; later calls need a person again")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await loadGrants()).revoke(terminal, id, options)),
    );
}
