import { basename, extname } from "node:path";
import type { AgentFileFacts } from "./agent-file.ts";

/**
 * What the path of an agent file says: `agent.yaml` and `AGENT.md` are named after their directory, every other
 * file after itself. A Markdown file with another name is an agent only when it has frontmatter.
 */
export function agentFactsOf(file: string, directoryName: string): AgentFileFacts {
  const extension = extname(file);
  const stem = basename(file, extension);
  const isOwnDirectory = stem === "agent" || stem === "AGENT";
  return {
    format: extension === ".md" ? "markdown" : "yaml",
    fallbackName: isOwnDirectory ? directoryName : stem,
    isCertain: isOwnDirectory || extension !== ".md",
  };
}
