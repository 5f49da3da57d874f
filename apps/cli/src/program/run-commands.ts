import { Option, type Command } from "commander";
import { addRunSteeringCommands } from "./run-control-commands.ts";
import {
  CURSOR_TEXT,
  busyOption,
  JSON_TEXT,
  RUN_ORDERS,
  TOTALS_RANGES,
  WIDE_TEXT,
  label,
  limitOption,
  seconds,
  thinkingOption,
  wholeNumber,
  withLimits,
  type Perform,
} from "./command-options.ts";

function repeated(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

/** Adds the options that select runs. */
function withRunFilters(command: Command) {
  return command
    .option("--agent <name>", "only of this agent")
    .option("--model <provider/model>", "only of this model")
    .option(
      "--status <status>",
      "only running, waiting, succeeded, failed, cancelled or dead; several with commas",
    )
    .option("--error <code>", "only failed with this code")
    .option("--label <key=value>", "only with this label; a key alone has any value", repeated, [])
    .option("--text <text>", "only with this text in the start of the input, a label or the id")
    .option("--from <time>", "only begun since: a time, or how long ago like 30m, 12h, 7d")
    .option("--to <time>", "only begun before, in the same forms");
}

const FIRST_EVENT = "how long to wait for the first event of a run that may be in the queue";
const FIRST_EVENT_SECONDS = 5;

/** `yard run` and `yard runs`. */
export function addRunCommands(program: Command, perform: Perform): void {
  const start = program
    .command("run <agent> <input>")
    .description("start a run and follow it: timeline and live text on stderr, answer on stdout")
    .option("--input-json", "the input is a JSON object")
    .option(
      "--file <path>",
      "an image, PDF, sound or text that belongs to the input; can be repeated",
      repeated,
      [],
    )
    .option("--no-wait", "print the run id and do not follow")
    .option("--model <provider/model>", "model in place of the agent's own")
    .addOption(thinkingOption())
    .option("--skill <name>", "skill to activate before the first step")
    .option("--session <key>", "the conversation that it is said in; a new key begins one")
    .addOption(busyOption())
    .option("--label <key=value>", "label of the run; can be repeated", label, {});
  withLimits(start, "limit of the run, and of waiting for it", "--wait-for")
    .addOption(limitOption())
    .option("--record <file>", "write what the models answer to a file, for runs replay")
    .option("--json", "print the events as lines of JSON")
    .action((agent, input, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/run.ts")).run(terminal, agent, input, options),
      ),
    );
  const runs = program.command("runs").description("look at runs, cancel and retry them");
  addRunControlCommands(runs, perform);
  addRunSteeringCommands(runs, perform);
  addListCommands(runs, perform);
  runs
    .command("show <run>")
    .description("one run with its input, answer, cost and how long each part took")
    .option("--json", JSON_TEXT)
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs.ts")).show(terminal, runId, options),
      ),
    );
  runs
    .command("events <run>")
    .description("the timeline of one run")
    .option("--follow", "wait for the events to come, until the run ends")
    .option("--wait <seconds>", FIRST_EVENT, seconds, FIRST_EVENT_SECONDS)
    .option("--json", "print the events as lines of JSON")
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs.ts")).events(terminal, runId, options),
      ),
    );
  runs
    .command("tail <run>")
    .description("follow a run to its end: timeline and live text on stderr, answer on stdout")
    .option("--wait <seconds>", FIRST_EVENT, seconds, FIRST_EVENT_SECONDS)
    .option("--json", "print the events as lines of JSON")
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/run.ts")).tail(terminal, runId, options),
      ),
    );
}

function addRunControlCommands(runs: Command, perform: Perform): void {
  runs
    .command("cancel <run>")
    .description("cancel a run, also one that has not begun; its requester may, and cli")
    .option("--reason <text>", "the reason, for readers of the run's events")
    .option("--json", JSON_TEXT)
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs.ts")).cancel(terminal, runId, options),
      ),
    );
  runs
    .command("replay <run-or-file>")
    .description("start a run again with the recorded answers of its models; tools are called")
    .option("--json", "print the events as lines of JSON")
    .action((source, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/run-recording.ts")).replay(terminal, source, options),
      ),
    );
  withLimits(
    runs
      .command("retry <run>")
      .description("continue a failed or cancelled run; no finished call is repeated"),
    "limit of time, counted from now",
  )
    .option("--json", JSON_TEXT)
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs.ts")).retry(terminal, runId, options),
      ),
    );
}

/** `yard runs list|totals`. */
function addListCommands(runs: Command, perform: Perform): void {
  withRunFilters(
    runs
      .command("list")
      .description("runs, the newest first")
      .option("--limit <n>", "how many", wholeNumber(1, 200), 20)
      .option("--cursor <cursor>", CURSOR_TEXT),
  )
    .addOption(new Option("--sort <order>", "another order").choices(RUN_ORDERS))
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs.ts")).list(terminal, options),
      ),
    );
  withRunFilters(
    runs
      .command("totals")
      .description("how many runs, how they ended, how long they took and what they cost")
      .addOption(
        new Option("--range <time>", "the time until now, in place of --from and --to").choices(
          TOTALS_RANGES,
        ),
      ),
  )
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs-totals.ts")).totals(terminal, options),
      ),
    );
}
