import { Option, type Command } from "commander";
import { JSON_TEXT, seconds } from "./command-options.ts";
import { leafCommands } from "./examples.ts";

/** The options of every command. */
export interface GlobalOptions {
  readonly json?: true;
  /** False for `--no-color`. */
  readonly color?: boolean;
  readonly quiet?: true;
  readonly verbose?: true;
  readonly context?: string;
  /** URL of a gateway. */
  readonly gateway?: string;
  /** Seconds. */
  readonly timeout?: number;
  readonly yes?: true;
}

/** Commands that run until they are stopped. */
const WITHOUT_END = new Set(["dev", "acp"]);

function globalOptions(): Option[] {
  return [
    new Option("--json", JSON_TEXT),
    new Option("--no-color", "no colours; also with NO_COLOR"),
    new Option("--quiet", "no notes on stderr, only errors"),
    new Option("--verbose", "more on stderr: where an error comes from, and how long it took"),
    new Option("--context <name>", "another installation; see: yard context list"),
    gatewayOption(),
    new Option("--timeout <seconds>", "give up after so long, with exit code 7").argParser(seconds),
    new Option("--yes", "do what yard would ask about; it never approves a tool call"),
  ];
}

/** Its value has a name of its own, since the `--server` of some commands is an MCP server. */
function gatewayOption(): Option {
  const option = new Option("--server <url>", "a gateway, over HTTP; see: yard login");
  option.attributeName = () => "gateway";
  return option.conflicts("context");
}

/** Gives each command the global options that it does not have itself. */
export function addGlobalOptions(program: Command): void {
  for (const { path, command } of leafCommands(program)) {
    const own = new Set(command.options.map(({ long }) => long));
    for (const option of globalOptions()) {
      if (own.has(option.long)) continue;
      if (option.long === "--timeout" && WITHOUT_END.has(path)) continue;
      command.addOption(option.helpGroup("Global options:"));
    }
  }
}

const FLAGS = new Set(["--json", "--no-color", "--quiet", "--verbose", "--yes"]);
const VALUED = new Set(["--context", "--server", "--timeout"]);

/** Global options may precede the command: they are moved behind it, where each command reads them. */
export function leadingOptionsLast(words: readonly string[]): string[] {
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? "";
    if (FLAGS.has(word) || /^--(?:context|server|timeout)=/.test(word)) at += 1;
    else if (VALUED.has(word)) at += 2;
    else break;
  }
  if (at === 0 || at >= words.length) return [...words];
  const [leading, rest] = [words.slice(0, at), words.slice(at)];
  const end = rest.indexOf("--");
  return end < 0 ? [...rest, ...leading] : [...rest.slice(0, end), ...leading, ...rest.slice(end)];
}
