import type { Command } from "commander";
import { CliError } from "../cli-error.ts";
import { fieldLines } from "../field-lines.ts";
import { HELP_TOPICS, topicNamed, topicSummary, topicText } from "../help-topics.ts";
import { screenText, screenWidth } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** `yard help [topic or command]`: a command's help goes before a topic of its name only when more than one word is given. */
export function help(
  terminal: Terminal,
  words: readonly string[],
  { program, json }: { readonly program: Command; readonly json?: true | undefined },
): void {
  const [first, ...others] = words;
  const printHelp = (subject: string, text: string): void => {
    if (json === true) writeJson(terminal, { subject, text });
    else terminal.out(screenText(text, screenWidth()));
  };
  if (first === undefined) {
    printHelp("yard", program.helpInformation().trimEnd());
    if (json !== true) for (const line of ["", ...topicLines()]) terminal.out(line);
    return;
  }
  const topic = others.length === 0 ? topicNamed(first) : null;
  if (topic !== null) return printHelp(topic, topicText(topic));
  const command = commandNamed(program, words);
  if (command !== null) return printHelp(words.join(" "), helpOf(command));
  throw new CliError("usage", `there is no help on ${JSON.stringify(words.join(" "))}`, {
    hint: `topics: ${HELP_TOPICS.join(", ")}; commands: ./yard --help`,
  });
}

/** A table of the topics. */
export function topicLines(): string[] {
  return [
    "Topics (yard help TOPIC):",
    ...fieldLines(HELP_TOPICS.map((topic) => [`  ${topic}`, topicSummary(topic)])),
  ];
}

function commandNamed(program: Command, words: readonly string[]): Command | null {
  let at: Command | undefined = program;
  for (const word of words)
    at = at?.commands.find((child) => child.name() === word || child.aliases().includes(word));
  return at ?? null;
}

/** The help with the examples at its end. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => void (text += part) }).outputHelp();
  return text.trimEnd();
}
