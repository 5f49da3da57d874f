import type { RunDetail } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { nowMs } from "../core/clock.ts";
import { durationText, shortRunId, tokensText, usdText } from "../core/format.ts";
import { Time } from "../ui/time.tsx";
import type { StorySoFar } from "./run-story.ts";

/** The run in figures. */
export function RunFacts({ run, story }: { run: RunDetail; story: StorySoFar }) {
  const startMs = story.startMs ?? Date.parse(run.createdAt);
  const endMs = story.endMs ?? (isOver(run.status) ? Date.parse(run.updatedAt) : nowMs.value);
  const cost = story.messages.length > 0 ? story.costUsd : (run.costUsd ?? null);
  const inputTokens = Math.max(story.inputTokens, run.usage.inputTokens);
  const outputTokens = Math.max(story.outputTokens, run.usage.outputTokens);
  const cacheReadTokens = Math.max(story.cacheReadTokens, run.usage.cacheReadTokens ?? 0);
  return (
    <dl class="facts" data-testid="facts">
      <Fact name="Started">
        <Time at={run.createdAt} />
      </Fact>
      <Fact name="Took">{durationText(Math.max(0, endMs - startMs))}</Fact>
      <Fact name="Model">{run.model}</Fact>
      <Fact name="Steps">{Math.max(story.steps, run.steps)}</Fact>
      <Fact name="Tool calls">{Math.max(story.toolCalls, run.toolCalls)}</Fact>
      <Fact name="Tokens">{tokensText({ inputTokens, outputTokens, cacheReadTokens })}</Fact>
      <Fact name="Cost">{cost === null ? "price not known" : usdText(cost)}</Fact>
      <Fact name="By">{run.requester}</Fact>
      {run.attempts > 1 && <Fact name="Runners that had it">{run.attempts}</Fact>}
      {run.session !== undefined && (
        <Fact name="Session">
          <a href={`/chat/${encodeURIComponent(run.session.key)}`}>{run.session.key}</a>
        </Fact>
      )}
      {run.parent !== undefined && (
        <Fact name="Works for">
          <a href={`/runs/${encodeURIComponent(run.parent.runId)}`}>
            {shortRunId(run.parent.runId)}
          </a>
        </Fact>
      )}
      {run.forkedFrom !== undefined && (
        <Fact name="Copied from">
          <a href={`/runs/${encodeURIComponent(run.forkedFrom.runId)}`}>
            {shortRunId(run.forkedFrom.runId)}
          </a>
          , step {run.forkedFrom.fromStep}
        </Fact>
      )}
    </dl>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function isOver(status: string): boolean {
  return ["succeeded", "failed", "cancelled", "dead", "rejected", "merged"].includes(status);
}
