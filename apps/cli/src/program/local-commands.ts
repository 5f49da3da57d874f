import { Option, type Command } from "commander";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import { CliError } from "../cli-error.ts";
import type { EarlyServices } from "../dev/early-services.ts";
import type { ExitCode } from "../exit-codes.ts";
import { JSON_TEXT, port, wholeNumber, type Perform } from "./command-options.ts";

const EXIT_WITH_PARENT_TEXT =
  "stop when standard input ends, as when the program that started it is gone";

/** `yard dev`, `demo` and `doctor`: this machine. */
export function addLocalCommands(program: Command, perform: Perform): void {
  program
    .command("dev")
    .description("start everything on this machine and show one log; Ctrl-C stops it")
    .option(
      "--project <dir>",
      "directory with policies, MCP servers, skills, agents (the one around the working directory)",
    )
    .option("--demo", "start the project of the demo, on this repository's files")
    .option(
      "--workspace <dir>",
      "directory that file tools work in (files/ of the project, or the project)",
    )
    .option("--runners <n>", "number of agent runners", wholeNumber(1, 32))
    .option("--processes", "run each service as a process of its own, not all in one")
    .option("--nats-port <n>", "port of NATS (a free one, kept for the next start)", port)
    .option("--redis-port <n>", "port of Redis (a free one, kept for the next start)", port)
    .option(
      "--trust-project-skills",
      "list skills and agents of a project found around the working directory without asking",
    )
    .option(EXIT_WITH_PARENT, EXIT_WITH_PARENT_TEXT)
    .option("--json", "print the log as lines of JSON")
    .action((options) =>
      perform(options, async (terminal) => {
        refuseWindows("yard dev");
        if (options.processes === true)
          return (await import("../commands/dev.ts")).dev(terminal, options);
        return withEarlyServices(terminal.env, async (services) =>
          (await import("../commands/dev.ts")).dev(terminal, options, services),
        );
      }),
    );
  program
    .command("init [dir]")
    .description("write a small project that runs at once: agent, skill, policy with tests")
    .addOption(
      new Option("--template <name>", "what to begin with")
        .choices(["minimal", "team", "openclaw"] as const)
        .default("minimal" as const),
    )
    .option("--model <provider/model>", "a real model as the default of the project")
    .option("--json", JSON_TEXT)
    .action((directory, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/init.ts")).init(terminal, directory ?? ".", options),
      ),
    );
  program
    .command("demo")
    .description("run the demo agent from end to end; starts and stops what is needed")
    .option("--open", "leave everything running afterwards, with the console, until Ctrl-C")
    .option(EXIT_WITH_PARENT, EXIT_WITH_PARENT_TEXT)
    .option("--json", "print the events of the run as lines of JSON")
    .action((options) =>
      perform(options, (terminal) => {
        refuseWindows("yard demo");
        return withEarlyServices(terminal.env, async (services) =>
          (await import("../commands/demo.ts")).demo(terminal, options, services),
        );
      }),
    );
  program
    .command("doctor")
    .description("check this machine and the running instance")
    .option("--fix", "put right what is safe to: permissions of the keys, missing streams")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/doctor.ts")).doctor(terminal, options),
      ),
    );
}

function refuseWindows(command: string): void {
  if (process.platform === "win32")
    throw new CliError("start_failed", `${command} does not run on Windows itself`, {
      hint: "start it in WSL; this yard works with it from here: yard login URL",
    });
}

/** The services load their code while the command loads its own. */
async function withEarlyServices(
  env: NodeJS.ProcessEnv,
  run: (services: EarlyServices) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { startServicesEarly } = await import("../dev/early-services.ts");
  const services = startServicesEarly(env);
  try {
    return await run(services);
  } finally {
    services.end();
  }
}
