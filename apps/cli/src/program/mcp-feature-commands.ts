import { Option, type Command } from "commander";
import {
  JSON_TEXT,
  label,
  LOG_LEVELS,
  seconds,
  wholeNumber,
  type Perform,
} from "./command-options.ts";

const loadResources = () => import("../commands/mcp-resources.ts");
const loadPrompts = () => import("../commands/mcp-prompts.ts");
const loadQuestions = () => import("../commands/mcp-questions.ts");

/** Declares the parts of `yard mcp` beside tools: resources, prompts, log messages and questions. */
export function addMcpFeatureCommands(mcp: Command, perform: Perform): void {
  addResources(mcp, perform);
  addPrompts(mcp, perform);
  addQuestions(mcp, perform);
  mcp
    .command("messages <server>")
    .description("the log messages that a server sent over the protocol")
    .option("--tail <count>", "how many", wholeNumber(1, 1_000), 200)
    .addOption(
      new Option("--level <level>", "first set from which level on it sends them").choices(
        LOG_LEVELS,
      ),
    )
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) =>
        (await import("../commands/mcp-messages.ts")).messages(terminal, server, options),
      ),
    );
}

function addResources(mcp: Command, perform: Perform): void {
  const resources = mcp.command("resources").description("resources of MCP servers");
  resources
    .command("list <server>")
    .description("the resources that the policy lets you read")
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) => (await loadResources()).list(terminal, server, options)),
    );
  resources
    .command("templates <server>")
    .description("the templates of resources that the policy lets you use")
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) =>
        (await loadResources()).templates(terminal, server, options),
      ),
    );
  resources
    .command("read <server> <uri>")
    .description("read a resource under the policy")
    .option("--json", JSON_TEXT)
    .action((server, uri, options) =>
      perform(options, async (terminal) =>
        (await loadResources()).read(terminal, server, { ...options, uri }),
      ),
    );
  resources
    .command("subscribe <server> <uri>")
    .description("show the changes of a resource as they come")
    .option("--count <changes>", "end after so many", wholeNumber(1, 1_000_000))
    .option(
      "--ttl <seconds>",
      "end after this time; without it it lasts while the command runs",
      seconds,
    )
    .option("--json", JSON_TEXT)
    .action((server, uri, options) =>
      perform(options, async (terminal) =>
        (await loadResources()).subscribe(terminal, server, { ...options, uri }),
      ),
    );
}

function addPrompts(mcp: Command, perform: Perform): void {
  const prompts = mcp.command("prompts").description("prompts of MCP servers");
  prompts
    .command("list <server>")
    .description("the prompts that the policy lets you get")
    .option("--json", JSON_TEXT)
    .action((server, options) =>
      perform(options, async (terminal) => (await loadPrompts()).list(terminal, server, options)),
    );
  prompts
    .command("get <server> <prompt>")
    .description("get a prompt under the policy")
    .option("--arg <name=value>", "an argument; repeat it for others", label, {})
    .option("--json", JSON_TEXT)
    .action((server, name, options) =>
      perform(options, async (terminal) =>
        (await loadPrompts()).get(terminal, server, { ...options, name }),
      ),
    );
  prompts
    .command("complete <server> <prompt> <argument>")
    .description("values that the server suggests for an argument")
    .option("--value <text>", "what was typed of it so far", "")
    .option("--arg <name=value>", "an argument that is known already", label, {})
    .option("--json", JSON_TEXT)
    .action((server, name, argument, options) =>
      perform(options, async (terminal) =>
        (await loadPrompts()).complete(terminal, server, { ...options, name, argument }),
      ),
    );
}

function addQuestions(mcp: Command, perform: Perform): void {
  const questions = mcp.command("questions").description("what MCP servers ask people");
  questions
    .command("list")
    .description("the questions that wait for an answer of yours")
    .option("--server <server>", "only of this one")
    .option("--all", "those that have ended, too, for a day")
    .option("--json", JSON_TEXT)
    .action((options) =>
      perform(options, async (terminal) => (await loadQuestions()).list(terminal, options)),
    );
  questions
    .command("answer <id> [content]")
    .description("answer a question; the content is a JSON object with its fields")
    .option("--decline", "say no")
    .option("--cancel", "give no answer")
    .option("--json", JSON_TEXT)
    .action((id, content, options) =>
      perform(options, async (terminal) =>
        (await loadQuestions()).answer(
          terminal,
          id,
          content === undefined ? options : { ...options, content },
        ),
      ),
    );
}
