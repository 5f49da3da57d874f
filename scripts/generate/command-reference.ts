import { HELP_TOPICS, topicText } from "../../apps/cli/src/help-topics.ts";
import { buildProgram } from "../../apps/cli/src/program.ts";
import { leafCommands } from "../../apps/cli/src/program/examples.ts";

const WIDTH = 100;
const GLOBAL = /Global options:\n((?: .*\n)+)\n?/;

const INTRODUCTION = `# The command line

What \`yard help TOPIC\` and \`yard COMMAND --help\` say, in one place. It is generated from the table of commands (\`npm run generate\`), so it cannot
differ from it. [apps/cli](../../apps/cli/README.md) has the exit codes and the environment.`;

/** The help of \`yard\`, its topics and all its commands as one document. */
export function commandReference(): string {
  const program = buildProgram("", () => Promise.resolve());
  const commands = leafCommands(program);
  // Not every command has all of them.
  const [options = ""] = commands
    .map(({ command }) => GLOBAL.exec(helpOf(command))?.[1] ?? "")
    .toSorted((a, b) => b.split("\n").length - a.split("\n").length);
  return [
    INTRODUCTION,
    "## Global options",
    block(options),
    "## Topics",
    ...HELP_TOPICS.flatMap((topic) => [`### help ${topic}`, block(topicText(topic))]),
    "## Commands",
    ...commands.flatMap(({ path, command }) => [
      `### ${path}`,
      block(withoutGlobalOptions(helpOf(command))),
    ]),
  ].join("\n\n");
}

type Command = ReturnType<typeof buildProgram>;

function helpOf(command: Command): string {
  let help = "";
  command
    .configureOutput({
      writeOut: (text) => void (help += text),
      getOutHelpWidth: () => WIDTH,
      getOutHasColors: () => false,
    })
    .outputHelp();
  return help;
}

function withoutGlobalOptions(help: string): string {
  return help.replace(GLOBAL, "");
}

function block(text: string): string {
  return ["```text", text.trimEnd(), "```"].join("\n");
}
