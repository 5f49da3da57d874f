import { InvalidArgumentError, Option, type Command } from "commander";
import {
  CURSOR_TEXT,
  JOB_CATCH_UPS,
  JOB_OVERLAPS,
  JSON_TEXT,
  seconds,
  thinkingOption,
  WAKE_MODES,
  wholeNumber,
  type Perform,
} from "./command-options.ts";

const load = () => import("../commands/schedules.ts");
const loadChange = () => import("../commands/schedule-changes.ts");
const OWNER = "of another owner; for the users cli and admin";
const JOB = "<job>";

/** `yard schedules`. */
export function addScheduleCommands(program: Command, perform: Perform): void {
  const schedules = program
    .command("schedules")
    .description("jobs: agents that run when it is time; a job by its id or name");
  addLooking(schedules, perform);
  addMaking(schedules, perform);
  for (const [verb, text] of [
    ["pause", "let no due time of a job come to a run, until it is resumed"],
    ["resume", "resume a job, from its next due time"],
  ] as const)
    schedules
      .command(`${verb} ${JOB}`)
      .description(text)
      .option("--owner <user>", OWNER)
      .option("--json", JSON_TEXT)
      .action((job, options) =>
        perform(options, async (terminal) => (await loadChange())[verb](terminal, job, options)),
      );
  schedules
    .command(`run ${JOB}`)
    .description("run a job now, whatever its schedule says")
    .option("--due", "only if it is due")
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((job, options) =>
      perform(options, async (terminal) => (await loadChange()).run(terminal, job, options)),
    );
  schedules
    .command(`remove ${JOB}`)
    .description("remove a job; a run of it that is under way continues")
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((job, options) =>
      perform(options, async (terminal) => (await loadChange()).remove(terminal, job, options)),
    );
}

function addLooking(schedules: Command, perform: Perform): void {
  schedules
    .command("list")
    .description("jobs, the one that is due next first")
    .option("--search <text>", "only with this in the name or description")
    .addOption(
      new Option("--state <state>", "only these")
        .choices(["all", "enabled", "disabled"])
        .default("all"),
    )
    .option("--limit <n>", "how many", wholeNumber(1, 200), 50)
    .option("--cursor <cursor>", CURSOR_TEXT)
    .option("--owner <user>", OWNER)
    .option("--all", "of every owner; for the users cli and admin")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  schedules
    .command(`show ${JOB}`)
    .description("one job: schedule, task, delivery, and the end of its last run")
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((job, options) =>
      perform(options, async (terminal) => (await load()).show(terminal, job, options)),
    );
  schedules
    .command("history [job]")
    .description("what became of the due times of a job, or of all, the latest first")
    .addOption(new Option("--status <status...>", "only these").choices(["ok", "error", "skipped"]))
    .option("--limit <n>", "how many", wholeNumber(1, 200), 20)
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((job, options) =>
      perform(options, async (terminal) => (await load()).history(terminal, job, options)),
    );
}

function addMaking(schedules: Command, perform: Perform): void {
  withJobOptions(schedules.command("add <name>"))
    .description("add a job: one of --at, --every and --cron, and one of --message and --text")
    .option("--paused", "let nothing come to a run until it is resumed")
    .option("--key <text>", "of this request: the same key adds the job once within a day")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) => (await loadChange()).add(terminal, name, options)),
    );
  withJobOptions(schedules.command(`edit ${JOB}`))
    .description("change a job; what is not named stays as it is")
    .option("--name <name>", "what it is called")
    .option("--no-delivery", "deliver no results of its runs")
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((job, options) =>
      perform(options, async (terminal) => (await loadChange()).edit(terminal, job, options)),
    );
}

function withJobOptions(command: Command): Command {
  return command
    .option("--at <time>", "once, at a time like 2027-01-01T07:00:00Z; without a zone it is UTC")
    .option("--every <span>", "at a distance: 30s, 15m, 6h, 1d", span)
    .option("--cron <expression>", "five or six fields")
    .option("--tz <zone>", "time zone of --cron, such as Europe/Berlin; left out: UTC")
    .option("--stagger <span>", "for --cron: later by less than that, always the same", span)
    .option("--message <text>", "input of a run of its own")
    .option("--text <text>", "what is said in the session of --session, else in main")
    .option("--agent <name>", "who works; left out: the installation's agent for jobs")
    .option("--session <key>", "the session of --text")
    .option("--model <provider/model>", "in place of the agent's own; for --message")
    .addOption(thinkingOption())
    .option("--max-time <seconds>", "how long a run may take; for --message", seconds)
    .option("--webhook <url>", "where the end of each run is posted to")
    .option(
      "--announce <account>",
      "the channel, or channel/account, where answers are said; or last",
    )
    .option("--to <target>", "for --announce: user:ID, group:ID or channel:ID")
    .option("--best-effort", "a run succeeds even if its result could not be delivered")
    .option("--description <text>", "what it is for")
    .addOption(new Option("--wake <mode>", "at once or at the next heartbeat").choices(WAKE_MODES))
    .addOption(
      new Option("--overlap <what>", "while a run of the job is under way").choices(JOB_OVERLAPS),
    )
    .addOption(
      new Option("--catch-up <what>", "what to do about missed runs").choices(JOB_CATCH_UPS),
    )
    .option("--keep", "for --at: keep it, switched off, when it has run");
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A span in milliseconds. */
function span(text: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (unit === "s" || unit === "m" || unit === "h" || unit === "d")
    return Number(count) * UNITS_MS[unit];
  throw new InvalidArgumentError("It must look like 30s, 15m, 6h or 1d.");
}
