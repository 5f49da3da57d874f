import { Command, InvalidArgumentError } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

/** Runs one command: catches its failure, shows it in the form asked for, keeps the exit code. */
export type Perform = (
  options: { json?: true },
  work: (terminal: Terminal) => Promise<ExitCode | void>,
) => Promise<void>;

const JSON_TEXT = "print one JSON document; lines of JSON where the output is a stream";

const EPILOGUE = `
Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 denied, 6 NATS, Redis or a service is down,
7 timeout, 130 interrupted.

Environment: YARD_NATS_URL, YARD_USER and YARD_NATS_NKEY_FILE name a bus elsewhere; without them
the commands use the instance that "yard dev" runs. YARD_STATE_DIR moves its files from .yard.`;

/** Declares the commands. What they do is imported when one of them is used. */
export function buildProgram(version: string, perform: Perform): Command {
  const program = new Command("yard")
    .description("Switchyard: AI agents as event-driven microservices")
    .version(version)
    .exitOverride()
    .showHelpAfterError("(add --help for the usage)")
    .addHelpText("after", EPILOGUE);
  addLocalCommands(program, perform);
  addRunCommands(program, perform);
  addMcpCommands(program, perform);
  addDefinitionCommands(program, perform);
  addOperatorCommands(program, perform);
  return program;
}

function addLocalCommands(program: Command, perform: Perform): void {
  program
    .command("dev")
    .description("start everything on this machine and show one log; Ctrl-C stops it")
    .option("--project <dir>", "directory with policies, MCP servers, skills, agents (examples/)")
    .option("--workspace <dir>", "directory that file tools work in (the repository)")
    .option("--runners <n>", "number of agent runners", wholeNumber(1, 32))
    .option("--nats-port <n>", "port of NATS (a free one, kept for the next start)", port)
    .option("--redis-port <n>", "port of Redis (a free one, kept for the next start)", port)
    .option("--json", "print the log as lines of JSON")
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/dev.ts")).dev(terminal, options),
      ),
    );
  program
    .command("demo")
    .description("run the demo agent from end to end; starts and stops what is needed")
    .option("--json", "print the events of the run as lines of JSON")
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/demo.ts")).demo(terminal, options),
      ),
    );
  program
    .command("doctor")
    .description("check this machine and the running instance")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/doctor.ts")).doctor(terminal, options),
      ),
    );
}

function addRunCommands(program: Command, perform: Perform): void {
  program
    .command("run <agent> <input>")
    .description("start a run and follow it: timeline on stderr, answer on stdout")
    .option("--input-json", "the input is a JSON object")
    .option("--no-wait", "print the run id and do not follow")
    .option("--model <provider/model>", "model in place of the agent's own")
    .option("--skill <name>", "skill to activate before the first step")
    .option("--label <key=value>", "label of the run; can be repeated", label, {})
    .option("--timeout <seconds>", "limit of the run, and of waiting for it", seconds)
    .option("--json", "print the events as lines of JSON")
    .action((agent, input, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/run.ts")).run(terminal, agent, input, options),
      ),
    );
  const runs = program.command("runs").description("look at runs");
  runs
    .command("list")
    .description("newest first")
    .option("--limit <n>", "how many", wholeNumber(1, 200), 20)
    .option("--agent <name>", "only of this agent")
    .option("--status <status>", "only queued, running, succeeded or failed")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/runs.ts")).list(terminal, options),
      ),
    );
  runs
    .command("show <run>")
    .description("one run with its input, answer and cost")
    .option("--json", JSON_TEXT)
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/runs.ts")).show(terminal, runId, options),
      ),
    );
  runs
    .command("events <run>")
    .description("the timeline of one run")
    .option("--follow", "wait for the events to come, until the run ends")
    .option("--json", "print the events as lines of JSON")
    .action((runId, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/runs.ts")).events(terminal, runId, options),
      ),
    );
}

function addMcpCommands(program: Command, perform: Perform): void {
  const mcp = program.command("mcp").description("MCP servers and their tools");
  mcp
    .command("list")
    .description("the configured servers with their true status")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/mcp.ts")).servers(terminal, options),
      ),
    );
  mcp
    .command("tools [server]")
    .description("the tools that the policy lets you call")
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/mcp.ts")).tools(terminal, server, options),
      ),
    );
  mcp
    .command("call <server> <tool> [arguments]")
    .description("call a tool under the policy; the arguments are a JSON object")
    .option("--timeout <seconds>", "how long to wait", seconds)
    .option("--json", JSON_TEXT)
    .action((server, tool, args, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/mcp.ts")).call(terminal, server, {
          ...options,
          tool,
          args: args ?? "{}",
        }),
      ),
    );
}

function addDefinitionCommands(program: Command, perform: Perform): void {
  const agents = program.command("agents").description("agent definitions");
  agents
    .command("list")
    .description("all agents, built-in ones included")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/agents.ts")).list(terminal, options),
      ),
    );
  agents
    .command("show <name>")
    .description("one agent with its prompt")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/agents.ts")).show(terminal, name, options),
      ),
    );
  const skills = program.command("skills").description("skills");
  skills
    .command("list")
    .description("the imported skills")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/skills.ts")).list(terminal, options),
      ),
    );
  skills
    .command("show <name>")
    .description("one skill with its text")
    .option("--json", JSON_TEXT)
    .action((name, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/skills.ts")).show(terminal, name, options),
      ),
    );
  skills
    .command("render <name> [arguments...]")
    .description("the text that an agent gets for these arguments")
    .option("--json", JSON_TEXT)
    .action((name, words, options) =>
      perform(options, async (terminal) =>
        (await import("./commands/skills.ts")).render(terminal, name, { ...options, words }),
      ),
    );
}

function addOperatorCommands(program: Command, perform: Perform): void {
  program
    .command("services")
    .description("the services that answer on the bus, with their endpoints")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/services.ts")).services(terminal, options),
      ),
    );
  program
    .command("streams")
    .description("JetStream streams and consumers")
    .command("ensure")
    .description("create or update them; needs the admin key")
    .option("--replicas <n>", "copies of each stream in a cluster", wholeNumber(1, 5))
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/streams.ts")).ensure(terminal, options),
      ),
    );
  program
    .command("keys")
    .description("keys of the NATS users")
    .command("init")
    .description("make the keys that are missing, and auth.conf for nats-server")
    .requiredOption("--dir <dir>", "where the keys are kept")
    .option("--anonymous", "let clients without credentials in, as user me (loopback only)")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("./commands/keys.ts")).init(terminal, options),
      ),
    );
}

const port = wholeNumber(1, 65_535);
const seconds = wholeNumber(1, 86_400);

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

function label(text: string, labels: Record<string, string>): Record<string, string> {
  const at = text.indexOf("=");
  if (at > 0) return { ...labels, [text.slice(0, at)]: text.slice(at + 1) };
  throw new InvalidArgumentError("It must look like key=value.");
}
