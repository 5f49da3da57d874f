import { Option, type Command } from "commander";
import { addApiKeyCommands } from "./api-key-commands.ts";
import { directory, JSON_TEXT, wholeNumber, type Perform } from "./command-options.ts";

/** `yard services`, `streams` and `keys`: commands for operators of an installation. */
export function addOperatorCommands(program: Command, perform: Perform): void {
  program
    .command("status")
    .description("one screen: services, runs, waiting approvals, stops, last failures")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/status.ts")).status(terminal, options),
      ),
    );
  program
    .command("services")
    .description("which services run here: endpoints, requests, errors and average times")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/services.ts")).services(terminal, options),
      ),
    );
  program
    .command("logs [service]")
    .description("the log of yard dev on this machine, of all services or of one")
    .option("--tail <n>", "how many lines, the last ones", wholeNumber(1, 100_000), 200)
    .addOption(
      new Option("--level <level>", "only lines of this level or a graver one").choices([
        "trace",
        "debug",
        "info",
        "warn",
        "error",
        "fatal",
      ] as const),
    )
    .option("-f, --follow", "continue with lines written from now on")
    .option("--json", "print the records as lines of JSON")
    .action((service, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/logs.ts")).logs(terminal, service, options),
      ),
    );
  addStreamCommands(program, perform);
  addKeyCommands(program, perform);
}

function addStreamCommands(program: Command, perform: Perform): void {
  const streams = program.command("streams").description("JetStream streams and consumers");
  streams
    .command("list")
    .description(
      "how full each stream is and how far its consumers are behind; needs the admin key",
    )
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/streams.ts")).list(terminal, options),
      ),
    );
  streams
    .command("ensure")
    .description("create or update streams and consumers; needs the admin key")
    .addOption(
      new Option("--replicas <n>", "copies of each stream in a cluster (default: as they are)")
        .env("YARD_STREAM_REPLICAS")
        .argParser(wholeNumber(1, 5)),
    )
    .option("--wait", "wait up to an hour for a NATS that comes later, not a few seconds")
    .option("--audit-gib <n>", "room of the audit; never made smaller", wholeNumber(1, 65_536))
    .option("--operator-key <file>", "bring the audit up to date, too, which the admin may not")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/streams.ts")).ensure(terminal, options),
      ),
    );
}

function addKeyCommands(program: Command, perform: Perform): void {
  const keys = program
    .command("keys")
    .description("keys of the NATS users, of run tokens and of callers over HTTP");
  addApiKeyCommands(keys, perform);
  keys
    .command("rotate")
    .description("make a new key for run tokens; the one before stays good beside it")
    .requiredOption("--dir <dir>", "where the keys are kept", directory)
    .option("--audit-values", "a new key for arguments in the audit instead; those before stay")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/keys-rotate.ts")).rotate(terminal, options),
      ),
    );
  keys
    .command("init")
    .description(
      "make the missing keys and passwords, auth.conf for nats-server, users.acl for Redis",
    )
    .requiredOption("--dir <dir>", "where the keys are kept", directory)
    .option("--client <name...>", "also a user for each of these teams; those before stay")
    .option("--manifest <file>", "also a manifest that adds these teams on Kubernetes")
    .option("--namespace <name>", "the installation's namespace in the manifest", "switchyard")
    .option("--operator <file>", "also the operator's key, in a file apart; that before stays")
    .option("--triggers <file>", "let the scheduler subscribe to the subjects in triggers.yaml")
    .option("--anonymous", "let clients without credentials in, as user me (loopback only)")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) =>
        (await import("../commands/keys.ts")).init(terminal, options),
      ),
    );
}
