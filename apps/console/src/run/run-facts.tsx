import type { RunDetail } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { nowMs } from "../core/clock.ts";
import { count, durationText, tokensText, usdText } from "../core/format.ts";
import { RunLink } from "../ui/run-link.tsx";
import { Time } from "../ui/time.tsx";
import { costBelow, type Family } from "./family.ts";
import { isOver } from "./is-over.ts";
import type { StorySoFar } from "./run-story.ts";

/** The run in figures. */
export function RunFacts(props: { run: RunDetail; story: StorySoFar; family: Family }) {
  const { run, story, family } = props;
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
      {run.model !== "" && <Fact name="Model">{run.model}</Fact>}
      <Fact name="Steps">{Math.max(story.steps, run.steps)}</Fact>
      <Fact name="Tool calls">{Math.max(story.toolCalls, run.toolCalls)}</Fact>
      <Fact name="Tokens">{tokensText({ inputTokens, outputTokens, cacheReadTokens })}</Fact>
      <Fact name={family.runs.size > 0 ? "Own cost" : "Cost"}>
        {cost === null ? "price not known" : usdText(cost)}
      </Fact>
      {family.runs.size > 0 && <Fact name="Total cost">{totalText(cost, family)}</Fact>}
      <Fact name="By">{run.requester}</Fact>
      {run.attempts > 1 && <Fact name="Times picked up">{run.attempts}</Fact>}
      {run.session !== undefined && (
        <Fact name="Session">
          <a href={`/chat/${encodeURIComponent(run.session.key)}`}>{run.session.key}</a>
        </Fact>
      )}
      {run.parent !== undefined && (
        <Fact name="Works for">
          <RunLink runId={run.parent.runId} />
        </Fact>
      )}
      {run.forkedFrom !== undefined && (
        <Fact name="Copied from">
          <RunLink runId={run.forkedFrom.runId} />, step {run.forkedFrom.fromStep}
        </Fact>
      )}
    </dl>
  );
}

/** The cost of the run and of the runs below it. */
function totalText(own: number | null, family: Family): string {
  const below = costBelow(family);
  if (own === null || below === null) return "price not known";
  const total = `${usdText(own + below)}, ${count(family.runs.size + 1, "run")}`;
  return family.isWhole ? total : `at least ${total}`;
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
