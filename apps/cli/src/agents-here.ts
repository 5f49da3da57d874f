import type { checkAgents } from "@switchyard/contracts/agents";
import { ThreadAnalyzer } from "@switchyard/skills/analysis/thread-analyzer";
import { checkAgentFiles } from "@switchyard/skills/imports/check-agents";
import type { z } from "zod";

/** As the importer has it. */
const DEADLINE_MS = 1_000;

/** What the importer would say of agent files, worked out in this process; which skills there are nobody knows here. */
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
