import type { Command } from "commander";
import {
  CURSOR_TEXT,
  JSON_TEXT,
  WIDE_TEXT,
  wholeNumber,
  withLimits,
  type Perform,
} from "./command-options.ts";

const FROM_START = "limit of time from the run's start";

/** `yard runs steer|fork|resume|delete|dead|redrive|questions|answer`. */
export function addRunSteeringCommands(runs: Command, perform: Perform): void {
  runs
    .command("steer <run> <message>")
    .description("give a run a message for its next step")
    .option("--json", JSON_TEXT)
    .action((runId, message, options) =>
      perform(options, async (terminal) =>
        (await control()).steer(terminal, runId, { ...options, message }),
      ),
    );
  withLimits(
    runs
      .command("resume <run>")
      .description("continue a run that waits at a limit, with a higher one or the same"),
    FROM_START,
  )
    .option("--json", JSON_TEXT)
    .action((runId, options) =>
      perform(options, async (terminal) => (await control()).resume(terminal, runId, options)),
    );
  withLimits(
    runs
      .command("fork <run>")
      .description(
        "start a run from a step of another one; what came before and its limits are kept",
      )
      .requiredOption("--step <n>", "first model call that is made anew", wholeNumber(1, 1_001)),
    FROM_START,
  )
    .option("--input <text>", "in place of the other run's")
    .option("--agent <name>", "in place of the other run's")
    .option("--model <provider/model>", "in place of the other run's")
    .option("--json", JSON_TEXT)
    .action((runId, options) =>
      perform(options, async (terminal) => (await control()).fork(terminal, runId, options)),
    );
  runs
    .command("delete [runs...]")
    .description("delete ended runs with their texts and events: those named, or an owner's")
    .option("--owner <user>", "all ended runs of this user; only cli and admin may name another")
    .option("--before <time>", "only those begun before: a time, or how long ago like 12h, 30d")
    .option("--yes", "do not ask")
    .option("--json", JSON_TEXT)
    .action((names, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/runs-delete.ts")).remove(terminal, names, options),
      ),
    );
  addPeopleCommands(runs, perform);
}

function addPeopleCommands(runs: Command, perform: Perform): void {
  runs
    .command("dead")
    .description("runs and commands that were given up because runners died of them")
    .option("--limit <n>", "how many", wholeNumber(1, 200), 50)
    .option("--cursor <cursor>", CURSOR_TEXT)
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await control()).dead(terminal, options)),
    );
  runs
    .command("redrive <letter>")
    .description("send a command again that `runs dead` lists, in the name of its sender")
    .option("--json", JSON_TEXT)
    .action((letterId, options) =>
      perform(options, async (terminal) => (await control()).redrive(terminal, letterId, options)),
    );
  runs
    .command("questions")
    .description("what runs ask people")
    .option("--limit <n>", "how many", wholeNumber(1, 200), 50)
    .option("--cursor <cursor>", CURSOR_TEXT)
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await control()).questions(terminal, options)),
    );
  runs
    .command("answer <question> <answer>")
    .description("answer a question of a run, by the name that `runs questions` shows")
    .option("--answer-json", "the answer is JSON, for a question with a schema")
    .option("--json", JSON_TEXT)
    .action((callId, answer, options) =>
      perform(options, async (terminal) =>
        (await control()).answer(terminal, callId, { ...options, answer }),
      ),
    );
}

function control() {
  return import("../commands/runs-control.ts");
}
