import type { AgentDefinition } from "@switchyard/contracts/agents";
import type { Changes } from "@switchyard/contracts/definition-store";
import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { z } from "zod";
import { agentCapabilities, agentText } from "../agents/describe-agent.ts";
import { changes, findingsOf, scannedCapabilities } from "./diff-versions.ts";
import { lineDiff } from "./line-diff.ts";

/** One side of a comparison. */
export interface AgentSide {
  readonly agent: AgentDefinition;
  readonly report: ScanReport | null;
}

interface AgentDiff {
  readonly text: string;
  readonly capabilities: z.output<typeof Changes>;
  readonly findings: z.output<typeof Changes>;
}

/** What changed between two versions of an agent: what a person wants to see before the newer one is used. */
export function diffAgents(from: AgentSide, to: AgentSide): AgentDiff {
  return {
    text: lineDiff(agentText(from.agent), agentText(to.agent)),
    capabilities: changes(capabilitiesOf(from), capabilitiesOf(to)),
    findings: changes(findingsOf(from), findingsOf(to)),
  };
}

function capabilitiesOf({ agent, report }: AgentSide): string[] {
  return [...agentCapabilities(agent), ...scannedCapabilities(report)];
}
