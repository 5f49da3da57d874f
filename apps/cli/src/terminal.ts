import { styleText } from "node:util";
import { withOwnCommand } from "./locations.ts";
import { printableJson } from "./printable.ts";
import { screenText, screenWidth } from "./table.ts";

export type Style = Parameters<typeof styleText>[0];

/** A command reads its variables here and writes data to stdout, everything else to stderr. */
export interface Terminal {
  /** The variables of the process; the global options --server and --context replace theirs. */
  readonly env: NodeJS.ProcessEnv;
  /** One line of data. */
  readonly out: (line: string) => void;
  /** One line for the person: progress, notes, errors. */
  readonly note: (line: string) => void;
  /** One line about a failure, which --quiet keeps. */
  readonly error: (line: string) => void;
  /** Colours a part of a line for stdout or stderr; without effect when that is not a terminal or NO_COLOR is set. */
  readonly paintOut: (style: Style, text: string) => string;
  readonly paintNote: (style: Style, text: string) => string;
}

/** The process's own streams. */
export function processTerminal(): Terminal {
  return {
    env: process.env,
    out: (line) => void process.stdout.write(`${line}\n`),
    note: onStderr,
    error: onStderr,
    paintOut: (style, text) => styleText(style, text, { stream: process.stdout }),
    paintNote: (style, text) => styleText(style, text, { stream: process.stderr }),
  };
}

function onStderr(line: string): void {
  process.stderr.write(`${withOwnCommand(screenText(line, screenWidth(process.stderr)))}\n`);
}

/** `--json`: one document on stdout, versioned so that scripts can rely on its shape. */
export function writeJson(terminal: Terminal, data: unknown): void {
  terminal.out(printableJson({ schemaVersion: 1, data }, 2));
}

/** `--json` of a stream: one line for each item. */
export function writeJsonLine(terminal: Terminal, item: unknown): void {
  terminal.out(printableJson(item));
}
