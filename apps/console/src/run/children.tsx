import type { RunDetail } from "@switchyard/client/operations";
import { durationText, usdText } from "../core/format.ts";
import { runText } from "../core/names.ts";
import { nowMs } from "../core/clock.ts";
import { Status } from "../ui/status.tsx";
import { wordOr } from "../ui/statuses.ts";
import type { Family } from "./family.ts";
import { isOver } from "./is-over.ts";

type Child = NonNullable<RunDetail["children"]>[number];

/** The runs that a run gave work to, each with its time, its cost, and its own children below. */
export function Children({ run, family }: { run: RunDetail | null; family: Family }) {
  const children = run?.children ?? [];
  if (children.length === 0) return <p class="empty">This run gave no work to other runs.</p>;
  return (
    <ul class="tree" data-testid="children">
      {children.map((child) => (
        <ChildRun key={child.runId} child={child} family={family} />
      ))}
    </ul>
  );
}

function ChildRun({ child, family }: { child: Child; family: Family }) {
  const detail = family.runs.get(child.runId);
  const below = detail?.children ?? [];
  const status = detail?.status ?? child.status ?? "running";
  return (
    <li>
      <div class="child">
        <Status is={wordOr(status, "done")} />
        <a href={`/runs/${encodeURIComponent(child.runId)}`}>
          {detail === undefined ? child.agent : runText(detail)}
        </a>
        {detail !== undefined && (
          <span class="quiet figures-line">
            {tookText(detail)} · {costText(detail)}
          </span>
        )}
      </div>
      {below.length > 0 && (
        <ul class="tree">
          {below.map((one) => (
            <ChildRun key={one.runId} child={one} family={family} />
          ))}
        </ul>
      )}
    </li>
  );
}

function tookText({ createdAt, updatedAt, status }: RunDetail): string {
  const endMs = isOver(status) ? Date.parse(updatedAt) : nowMs.value;
  return durationText(Math.max(0, endMs - Date.parse(createdAt)));
}

function costText({ costUsd }: RunDetail): string {
  return typeof costUsd === "number" ? usdText(costUsd) : "price not known";
}
