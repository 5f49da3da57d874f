import { Option, type Command } from "commander";
import {
  busyOption,
  JSON_TEXT,
  WIDE_TEXT,
  seconds,
  SESSION_KINDS,
  thinkingOption,
  wholeNumber,
  type BuildProgram,
  type Perform,
} from "./command-options.ts";

const load = () => import("../commands/sessions.ts");
const loadChange = () => import("../commands/session-changes.ts");
const OWNER = "of another owner; for the users cli and admin";

/** `yard sessions`. */
export function addSessionCommands(program: Command, perform: Perform, build: BuildProgram): void {
  program
    .command("chat")
    .description(
      "talk with an agent: streaming answers, approvals inline; pipe lines in, or use -m",
    )
    .option("--agent <name>", "who answers (the session's, else that of yard agents use)")
    .option("-m, --message <text>", "one message, and its answer on stdout; - is standard input")
    .option("--session <key>", "the conversation; a new key begins one")
    .option("--resume", "the chat that was used last")
    .option("--model <provider/model>", "model in place of the agent's own")
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/chat.ts")).chat(terminal, options, build),
      ),
    );
  program
    .command("acp")
    .description(
      "agents for editors that speak the Agent Client Protocol, on standard input and output",
    )
    .option("--agent <name>", "who answers in new sessions (else that of yard agents use)")
    .option("--model <provider/model>", "model in place of the agents' own")
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/acp.ts")).acp(terminal, options),
      ),
    );
  const sessions = program.command("sessions").description("conversations: each message is a run");
  addLooking(sessions, perform);
  addChanging(sessions, perform);
  sessions
    .command("send <session> <message>")
    .description(
      "say something and follow the run: timeline on stderr, answer on stdout; /help lists what a message can ask for",
    )
    .option("--agent <name>", "who answers; a new session needs one")
    .option("--model <provider/model>", "model in place of the agent's own")
    .addOption(thinkingOption())
    .addOption(busyOption())
    .option("--owner <user>", OWNER)
    .option("--no-wait", "print the run id and do not follow")
    .option("--timeout <seconds>", "how long to follow", seconds)
    .option("--json", "print the events as lines of JSON")
    .action((session, message, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/session-send.ts")).send(terminal, session, message, options),
      ),
    );
}

function addLooking(sessions: Command, perform: Perform): void {
  sessions
    .command("list")
    .description("conversations, the one used last first")
    .option("--search <text>", "only with this in the key or label")
    .addOption(new Option("--kind <kind...>", "only of this kind").choices(SESSION_KINDS))
    .option("--active <minutes>", "only those used since then", wholeNumber(1, 1_000_000))
    .option("--limit <n>", "how many", wholeNumber(1, 200), 50)
    .option("--owner <user>", OWNER)
    .option("--all", "of every owner; for the users cli and admin")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  sessions
    .command("show <session>")
    .description("one session and the end of its conversation; a key or an id")
    .option("--messages <n>", "how many of the last messages", wholeNumber(0, 1_000), 20)
    .option("--tools", "also what tools answered")
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((session, options) =>
      perform(options, async (terminal) => (await load()).show(terminal, session, options)),
    );
}

function addChanging(sessions: Command, perform: Perform): void {
  sessions
    .command("set <session>")
    .description("change what a session is called and how it works")
    .option("--label <text>", "a second name; an empty one takes it away")
    .addOption(new Option("--kind <kind>", "where it comes from").choices(SESSION_KINDS))
    .addOption(busyOption())
    .option("--agent <name>", "who answers messages that name no agent")
    .option("--model <provider/model>", "in place of the agents' own; default takes it away")
    .option(
      "--skills-off <names>",
      "skills it does without, such as pdf,notes; an empty text: none",
    )
    .option("--owner <user>", OWNER)
    .option("--json", JSON_TEXT)
    .action((session, options) =>
      perform(options, async (terminal) => (await loadChange()).set(terminal, session, options)),
    );
  sessions
    .command("reset <session>")
    .description("forget what was said; the name and settings stay, its run is cancelled")
    .option("--owner <user>", OWNER)
    .option("--yes", "do not ask")
    .option("--json", JSON_TEXT)
    .action((session, options) =>
      perform(options, async (terminal) => (await loadChange()).reset(terminal, session, options)),
    );
  sessions
    .command("delete <session>")
    .description("end a session and forget it; its run is cancelled")
    .option("--owner <user>", OWNER)
    .option("--yes", "do not ask")
    .option("--json", JSON_TEXT)
    .action((session, options) =>
      perform(options, async (terminal) => (await loadChange()).remove(terminal, session, options)),
    );
}
