import type { StoredEvent } from "@switchyard/bus/stored-event";
import {
  toolCompleted,
  toolDenied,
  toolFailed,
} from "@switchyard/contracts/agent-runner/run-events";
import type { RunEnd } from "./follow-run.ts";
import { payloadOf } from "./run-timeline.ts";

/** The demo's policy must deny this call. */
const FORBIDDEN_TOOL = "mcp__files__write_file";

export type DemoVerdict =
  | { readonly passed: true; readonly allowed: number; readonly rule: string }
  | { readonly passed: false; readonly problems: readonly string[] };

/** Judges a demo run: it must finish, its reads must be allowed, and exactly the write must be denied. */
export function judgeDemo(events: readonly StoredEvent[], end: RunEnd | null): DemoVerdict {
  const completed = events.flatMap((event) => payloadOf(event, toolCompleted) ?? []);
  const denied = events.flatMap((event) => payloadOf(event, toolDenied) ?? []);
  const failed = events.flatMap((event) => payloadOf(event, toolFailed) ?? []);
  const allowed = completed.filter(({ decision, isError }) => decision !== null && !isError);
  const [write, ...others] = denied.toSorted(
    (a, b) => Number(b.tool === FORBIDDEN_TOOL) - Number(a.tool === FORBIDDEN_TOOL),
  );

  const problems = [
    ...(end === null ? ["the run did not end in time"] : []),
    ...(end !== null && end.end !== "finished" ? [`the run ${end.end}: ${end.message}`] : []),
    ...(allowed.length === 0 ? ["no tool call was allowed and worked"] : []),
    ...(write?.tool === FORBIDDEN_TOOL ? [] : [`${FORBIDDEN_TOOL} was not denied`]),
    ...others.map(({ tool, decision }) => `${tool} was denied: ${decision.reason}`),
    ...failed.map(({ tool, code, message }) => `${tool} failed (${code}): ${message}`),
    ...completed
      .filter(({ tool }) => tool === FORBIDDEN_TOOL)
      .map(({ tool }) => `${tool} was executed`),
  ];
  if (problems.length > 0) return { passed: false, problems: [...new Set(problems)] };
  return { passed: true, allowed: allowed.length, rule: write?.decision.rule ?? "" };
}
