import type { checkAgents } from "@switchyard/contracts/skill-importer/agents";
import { analyzerHere } from "@switchyard/skills/analysis/analyze";
import { checkAgentFiles } from "@switchyard/skills/imports/check-agents";
import type { z } from "zod";

/**
 * Checks agent files as the importer would, in this thread: only this command waits for a file that takes long. Which skills are installed is
 * not known here.
 */
export function checkAgentsHere(
  files: readonly { readonly file: string; readonly text: string }[],
): Promise<z.output<typeof checkAgents.reply>["files"]> {
  return checkAgentFiles([...files], { knownSkills: null, analyzer: analyzerHere });
}
