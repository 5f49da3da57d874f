import type { UserRole } from "@switchyard/contracts/user-roles";
import { Option, type Command } from "commander";
import { JSON_TEXT, WIDE_TEXT, wholeNumber, type Perform } from "./command-options.ts";

const ROLES: readonly UserRole[] = ["viewer", "operator", "approver", "admin"];
const TTL = ["--ttl <seconds>", "when the key ends (when it is revoked)"] as const;
const lifetime = wholeNumber(1, 10 * 366 * 86_400);

const load = () => import("../commands/api-keys.ts");

/** Declares `yard keys api`: keys of people and programs over HTTP. */
export function addApiKeyCommands(keys: Command, perform: Perform): void {
  const api = keys.command("api").description("API keys of people and programs over HTTP");
  api
    .command("create <caller>")
    .description("make a key and print it, once; it acts as that caller")
    .addOption(
      new Option("--role <role...>", "what it may do").choices(ROLES).default(["operator"]),
    )
    .option("--scope <contract...>", "only these contracts of its role, such as 'runs.*'")
    .option("--note <text>", "what it is for")
    .option(...TTL, lifetime)
    .option("--json", JSON_TEXT)
    .action((caller, options) =>
      perform(options, async (terminal) => (await load()).create(terminal, caller, options)),
    );
  api
    .command("list")
    .description("show the keys, without what is secret of them")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  api
    .command("rotate <id>")
    .description("make a key with the same rights; the old one ends after the overlap")
    .option(
      "--overlap <seconds>",
      "how long the old key is still good",
      wholeNumber(0, 30 * 86_400),
      3_600,
    )
    .option(...TTL, lifetime)
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await load()).rotate(terminal, id, options)),
    );
  api
    .command("revoke <id>")
    .description("end a key at once, and the sessions of browsers opened with it")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await load()).revoke(terminal, id, options)),
    );
}
