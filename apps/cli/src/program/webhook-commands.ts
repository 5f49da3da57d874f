import { Option, type Command } from "commander";
import { JSON_TEXT, WIDE_TEXT, type Perform } from "./command-options.ts";

const load = () => import("../commands/webhooks.ts");

/** `yard webhooks`: events that a gateway posts to URLs, and hooks that programs post to. */
export function addWebhookCommands(program: Command, perform: Perform): void {
  const webhooks = program
    .command("webhooks")
    .description("your events sent to URLs, and hooks by which programs start runs");
  webhooks
    .command("list")
    .description("show your webhooks")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).list(terminal, options)),
    );
  webhooks
    .command("add <url>")
    .description("have your events sent to a URL; prints the secret that signs them, once")
    .requiredOption("--event <name...>", "names of events, with * for several, such as 'run.*'")
    .option("--agent <name>", "only of runs of this agent")
    .option("--json", JSON_TEXT)
    .action((url, options) =>
      perform(options, async (terminal) => (await load()).add(terminal, url, options)),
    );
  webhooks
    .command("edit <id>")
    .description("change where a webhook is sent, or which events are; its secret stays")
    .option("--url <url>", "where it is sent from now on")
    .option("--event <name...>", "names of events in place of those that it has")
    .option("--agent <name>", "only of runs of this agent")
    .addOption(new Option("--any-agent", "of runs of all agents").conflicts("agent"))
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await load()).edit(terminal, id, options)),
    );
  webhooks
    .command("remove <id>")
    .description("end a webhook and forget what it has not delivered")
    .option("--yes", "do it without a question")
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await load()).remove(terminal, id, options)),
    );
  webhooks
    .command("deliveries <id>")
    .description("how a webhook is, what waits, and what was given up with the reason")
    .option("--wide", WIDE_TEXT)
    .option("--json", JSON_TEXT)
    .action((id, options) =>
      perform(options, async (terminal) => (await load()).deliveries(terminal, id, options)),
    );
  webhooks
    .command("redeliver <id> [delivery]")
    .description("send what was given up again, one or all, and enable the webhook")
    .option("--json", JSON_TEXT)
    .action((id, delivery, options) =>
      perform(options, async (terminal) =>
        (await load()).redeliver(terminal, { id, delivery }, options),
      ),
    );
  webhooks
    .command("hooks")
    .description("show the hooks of hooks.json, by which programs elsewhere start runs")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await load()).hooks(terminal, options)),
    );
}
