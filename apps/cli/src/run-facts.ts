import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { modelLabel } from "./model-label.ts";
import { count, formatUsd } from "./quantities.ts";
import { cancelText, waitText } from "./run-timeline.ts";

/** The facts of a run and its progress, by name; a fact without a text is left out where it is shown. */
export function factsOf(run: RunDetail): [string, string][] {
  const { failure, cancellation, usage, session, parent, forkedFrom: copied } = run;
  const { waits = [], children = [], toolsUnavailable: unavailable = [] } = run;
  return [
    ["run", run.runId],
    ["agent", `${run.agent}  ${run.agentDigest ?? ""}`.trim()],
    ["status", run.status],
    ...(failure === null
      ? []
      : [["failure", `${failure.code}: ${failure.message}`] as [string, string]]),
    ...(cancellation === null ? [] : [["cancelled", cancelText(cancellation)] as [string, string]]),
    ["suspended", run.suspended ?? ""],
    ...waits.map((wait): [string, string] => ["waits for", waitText(wait)]),
    ["model", run.model === null ? "" : modelLabel(run.model)],
    ["thinking", run.thinking ?? ""],
    ["requested by", run.requester],
    ["session", session === undefined ? "" : `${session.key}  ${session.sessionId}`],
    ["works for", parent === undefined ? "" : `run ${parent.runId}`],
    ["copy of", copied === undefined ? "" : `run ${copied.runId}, from step ${copied.fromStep}`],
    ...children.map((child): [string, string] => {
      return ["child", `${child.runId} of ${child.agent}, ${child.status ?? "not ended"}`];
    }),
    ["created", run.createdAt],
    ["updated", run.updatedAt],
    [
      "work",
      `${count(run.steps, "step")}, ${count(run.toolCalls, "tool call")}, ${count(run.attempts, "attempt")}`,
    ],
    ["tokens", tokensText(usage)],
    ["cost", typeof run.costUsd === "number" ? formatUsd(run.costUsd) : "not known"],
    ["skills", run.skills.map((skill) => skill.name).join(", ")],
    ["skills cut short", run.skillsCut?.shortened.join(", ") ?? ""],
    ...unavailable.map(({ server, reason }): [string, string] => {
      return ["tools missing", `those of server ${server} are not available: ${reason}`];
    }),
    ["memory", memoryText(run.memory)],
    ["skills not listed", run.skillsCut?.dropped.join(", ") ?? ""],
    [
      "labels",
      Object.entries(run.labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(", "),
    ],
    ["input", inputText(run.input)],
  ];
}

function memoryText(memory: RunDetail["memory"]): string {
  if (memory === undefined) return "";
  const { kept, given, named, refused } = memory;
  if (refused !== undefined) return `not in the prompt: ${refused}`;
  return `${kept} kept, ${given} in the prompt, ${named} there by name alone`;
}

function tokensText(usage: RunDetail["usage"]): string {
  const { inputTokens, outputTokens, cacheReadTokens, estimatedTokens } = usage;
  const cached = cacheReadTokens === undefined ? "" : ` (${cacheReadTokens} from the cache)`;
  const counted = `${inputTokens} in${cached}, ${outputTokens} out`;
  if (estimatedTokens === undefined) return counted;
  return `${counted}; about ${estimatedTokens} of them in answers that broke off`;
}
