import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { EXIT } from "../../src/exit-codes.ts";
import { buildProgram } from "../../src/program.ts";
import { leafCommands } from "../../src/program/examples.ts";
import { leadingOptionsLast } from "../../src/program/global-options.ts";
import { CONVERSATION_OUTPUTS } from "./conversations.ts";
import { DEFINITION_OUTPUTS } from "./definitions.ts";
import { INSTALLATION_OUTPUTS } from "./installation.ts";
import { MCP_OUTPUTS } from "./mcp.ts";
import type { JsonOutputs } from "./output.ts";
import { POLICY_OUTPUTS } from "./policy.ts";
import { RUN_OUTPUTS } from "./runs.ts";
import { WEBHOOK_OUTPUTS } from "./webhooks.ts";

/** The output of each command with --json. */
export const OUTPUTS: JsonOutputs = {
  ...RUN_OUTPUTS,
  ...CONVERSATION_OUTPUTS,
  ...WEBHOOK_OUTPUTS,
  ...MCP_OUTPUTS,
  ...POLICY_OUTPUTS,
  ...DEFINITION_OUTPUTS,
  ...INSTALLATION_OUTPUTS,
};

/** Commands whose standard output is something else, with --json too. */
export const NO_OUTPUT: Readonly<Record<string, string>> = {
  acp: "standard output belongs to the Agent Client Protocol",
  "mcp serve": "standard output belongs to the Model Context Protocol",
};

const Success = z.strictObject({ schemaVersion: z.literal(1), data: z.unknown() });

/** A failure with --json: the last line on stderr, behind the notes that `--quiet` leaves out. */
const Failure = z.strictObject({
  schemaVersion: z.literal(1),
  error: z.strictObject({
    code: z.string().regex(/^[a-z][a-z0-9_]*$/),
    message: z.string().min(1),
    hint: z.string().nullable(),
  }),
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Finds what a command printed with --json against its schema, or left out; null when the output is valid. */
export function jsonProblem(words: readonly string[], ended: Ended): string | null {
  const path = commandOf(words);
  if (path === null) return failureProblem(ended.stderr);
  if (ended.stdout !== "") return outputProblem(path, ended.stdout);
  // A stream may have no items, and end at a time or at Ctrl-C.
  const isQuiet = OUTPUTS[path]?.document === undefined && QUIET_ENDS.has(ended.code);
  return isQuiet ? null : failureProblem(ended.stderr);
}

const QUIET_ENDS: ReadonlySet<number | null> = new Set([EXIT.ok, EXIT.timeout, EXIT.interrupted]);

const paths = leafCommands(buildProgram("0.0.0", () => Promise.resolve())).map(({ path }) => path);

/** The command that the words name, such as `mcp add`; null for none. */
export function commandOf(words: readonly string[]): string | null {
  const line = `${leadingOptionsLast(words).join(" ")} `;
  return paths.find((path) => line.startsWith(`${path} `)) ?? null;
}

function outputProblem(path: string, stdout: string): string | null {
  const { document, line } = OUTPUTS[path] ?? {};
  const whole = Success.safeParse(parsed(stdout));
  if (whole.success && document !== undefined) return valueProblem(document, whole.data.data);
  if (line === undefined) return `it is not one document: ${stdout.slice(0, 200)}`;
  for (const text of stdout.trimEnd().split("\n")) {
    const problem = valueProblem(line, parsed(text));
    if (problem !== null) return `${problem}\nin the line ${text.slice(0, 500)}`;
  }
  return null;
}

function failureProblem(stderr: string): string | null {
  const last = stderr.trimEnd().split("\n").at(-1) ?? "";
  return Failure.safeParse(parsed(last)).success
    ? null
    : `its failure is not one JSON document at the end of stderr: ${stderr}`;
}

function valueProblem(schema: z.ZodType, value: unknown): string | null {
  const read = schema.safeParse(value);
  if (!read.success) return read.error.message;
  return isDeepStrictEqual(read.data, value) ? null : "it has more than its schema";
}

/** Undefined for what is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
