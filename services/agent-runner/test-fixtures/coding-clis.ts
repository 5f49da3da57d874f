import type { Cli } from "../src/runtime-host/host-protocol.ts";
import { installedCli, type CliPackage, type FoundCli } from "./installed-cli.ts";

/** A published coding CLI. */
export interface CodingCli extends CliPackage {
  readonly cli: Exclude<Cli, "acp">;
  /** The address of its model, on a server that speaks the CLI's protocol. */
  readonly baseURL: (url: string) => string;
  /** The name with which the model calls a tool of the MCP server `switchyard`. */
  readonly toolName: (tool: string) => { readonly name: string; readonly namespace?: string };
}

const machine = `${process.platform}-${process.arch}`;
const CLIS: readonly CodingCli[] = [
  {
    cli: "codex",
    name: "@openai/codex",
    version: "0.169.0",
    file: ".bin/codex",
    baseURL: (url) => `${url}/v1`,
    toolName: (name) => ({ name, namespace: "mcp__switchyard" }),
  },
  {
    cli: "claude",
    name: "@anthropic-ai/claude-code",
    version: "2.1.330",
    file: `@anthropic-ai/claude-code-${machine}/claude`,
    baseURL: (url) => url,
    toolName: (name) => ({ name: `mcp__switchyard__${name}` }),
  },
  {
    cli: "gemini",
    name: "@google/gemini-cli",
    version: "0.61.0",
    file: ".bin/gemini",
    baseURL: (url) => url,
    toolName: (name) => ({ name: `mcp_switchyard_${name}` }),
  },
  {
    cli: "opencode",
    name: "opencode-ai",
    version: "1.18.33",
    file: `opencode-${machine}/bin/opencode`,
    baseURL: (url) => `${url}/v1`,
    toolName: (name) => ({ name: `switchyard_${name}` }),
  },
];

/**
 * Returns all CLIs, each with its program or why there is none. Codex is always installed, the others when `YARD_TEST_CLIS` names
 * them.
 */
export function findCodingClis(): Promise<
  { readonly tried: CodingCli; readonly program: FoundCli }[]
> {
  const wanted = (process.env["YARD_TEST_CLIS"] ?? "codex").split(",");
  return Promise.all(
    CLIS.map(async (tried) => {
      const program = wanted.includes(tried.cli)
        ? await installedCli(tried)
        : { skip: `YARD_TEST_CLIS does not name ${tried.cli}` };
      return { tried, program };
    }),
  );
}
