import { basename, extname } from "node:path";

export type AgentFileFacts = ReturnType<typeof agentFactsOf>;

/**
 * Returns what the path of an agent file determines: `agent.yaml` and `AGENT.md` are named after their directory, every other
 * file after itself. A Markdown file with another name is an agent only when it has frontmatter.
 */
export function agentFactsOf(file: string, directoryName: string) {
  const extension = extname(file);
  const stem = basename(file, extension);
  const isOwnDirectory = stem === "agent" || stem === "AGENT";
  return {
    /** `yaml`: the whole file is YAML. `markdown`: frontmatter, and the body is the system prompt. */
    format: extension === ".md" ? ("markdown" as const) : ("yaml" as const),
    /** Used when the file sets no name. */
    fallbackName: isOwnDirectory ? directoryName : stem,
    /** True for a file whose name alone marks it as an agent. */
    isCertain: isOwnDirectory || extension !== ".md",
  };
}
