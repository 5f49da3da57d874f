import { basename, dirname } from "node:path/posix";
import type { checkAgents } from "@switchyard/contracts/skill-importer/agents";
import type { z } from "zod";
import { notAnAgent } from "../agents/agent-file.ts";
import { warningFinding, type Finding } from "../finding.ts";
import { locatedAt } from "./located-at.ts";
import type { Analyzer } from "../analysis/analyze.ts";

type AgentFiles = z.output<typeof checkAgents.request>["files"];
type CheckedAgents = z.output<typeof checkAgents.reply>["files"];

/** Reads agent files and reports their problems; `knownSkills` are the names that they may preload, null when these are unknown. */
export async function checkAgentFiles(
  files: AgentFiles,
  { knownSkills, analyzer }: { knownSkills: ReadonlySet<string> | null; analyzer: Analyzer },
): Promise<CheckedAgents> {
  return Promise.all(
    files.map(async ({ file, text }) => {
      const { parsed } = await analyzer.analyze({
        kind: "agent",
        mainFile: file,
        directoryName: basename(dirname(file)),
        files: new Map([[file, Buffer.from(text)]]),
        version: null,
        now: new Date(0),
      });
      if (parsed.kind !== "agent") {
        const isSkipped = parsed.kind === "skipped";
        const diagnostics = locatedAt(file, isSkipped ? parsed.findings : notAnAgent(file));
        return { file, verdict: isSkipped ? "skipped" : "not_an_agent", agent: null, diagnostics };
      }
      const { agent, findings } = parsed;
      const unknown =
        knownSkills === null ? [] : unknownSkills(agent.skills, { knownSkills, text });
      return {
        file,
        verdict: "loads",
        agent,
        diagnostics: locatedAt(file, [...findings, ...unknown]),
      };
    }),
  );
}

/** A skill may be imported later, so a run continues without it; only a person can see whether it is misspelt. */
function unknownSkills(
  names: readonly string[],
  { knownSkills, text }: { knownSkills: ReadonlySet<string>; text: string },
): Finding[] {
  const lines = text.split("\n");
  return names
    .filter((name) => !knownSkills.has(name))
    .map((name) => {
      const line = lines.findIndex((candidate) => candidate.includes(name)) + 1;
      const message = `skills: there is no skill ${name}; a run continues without it. See: yard skills list`;
      return warningFinding("unknown_skill", message, line === 0 ? null : { line, column: 1 });
    });
}
