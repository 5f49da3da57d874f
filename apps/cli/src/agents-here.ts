import type { checkAgents } from "@switchyard/contracts/skill-importer/agents";
import { ThreadAnalyzer } from "@switchyard/skills/analysis/thread-analyzer";
import { checkAgentFiles } from "@switchyard/skills/imports/check-agents";
import type { z } from "zod";

/** The same deadline as the importer's. */
const DEADLINE_MS = 1_000;

/** Checks agent files as the importer would, in this process. Which skills are installed is not known here. */
export async function checkAgentsHere(
  files: readonly { readonly file: string; readonly text: string }[],
): Promise<z.output<typeof checkAgents.reply>["files"]> {
  const analyzer = new ThreadAnalyzer({ deadlineMs: DEADLINE_MS });
  try {
    return await checkAgentFiles([...files], { knownSkills: null, analyzer });
  } finally {
    await analyzer.close();
  }
}
