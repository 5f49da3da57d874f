import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { RunDetail } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count, prettyJson } from "../core/format.ts";
import { Markdown } from "../ui/markdown.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import type { StorySoFar, ToolSpan, Turn } from "./run-story.ts";

/** Limit of rendered turns: people do not read more of them, and a browser takes long to lay them out. */
const MOST_TURNS = 300;

/** The messages, with a folded card for each tool call. */
export function Conversation({ run, story }: { run: RunDetail | null; story: StorySoFar }) {
  const [isWhole, setWhole] = useState(false);
  const hidden = isWhole ? 0 : Math.max(0, story.turns.length - MOST_TURNS);
  const last = story.turns.findLast(({ who }) => who === "model");
  const isShown = last !== undefined && last.text === story.output;
  return (
    <div class="conversation" data-testid="conversation">
      {run !== null && (
        <article class="turn person">
          <h3>{run.requester}</h3>
          <p class="text">{inputText(run.input, 2)}</p>
        </article>
      )}
      {hidden > 0 && (
        <button type="button" class="button" data-testid="earlier" onClick={() => setWhole(true)}>
          Show {count(hidden, "earlier turn")}, too
        </button>
      )}
      {story.turns.slice(hidden).map((turn) => (
        <TurnCard key={turn.id} turn={turn} name={run?.agent ?? "agent"} />
      ))}
      {story.output !== null && !isShown && (
        <article class="turn model">
          <h3>Answer</h3>
          <Markdown text={story.output} />
        </article>
      )}
    </div>
  );
}

export function TurnCard({ turn, name }: { turn: Turn; name: string }) {
  const { who, text, isLive, span } = turn;
  if (span !== undefined) return <ToolCard span={span} />;
  if (text === "") return null;
  return (
    <article
      class={`turn ${who}`}
      data-testid="turn"
      data-status={said("turn", isLive ? "live" : "done")}
    >
      <h3>
        {who === "person" ? "You" : name}
        {isLive && <span class="caret" aria-hidden="true" />}
      </h3>
      {who === "model" && !isLive ? <Markdown text={text} /> : <p class="text">{text}</p>}
    </article>
  );
}

/** A call in a line; its arguments and result when it is opened. */
function ToolCard({ span }: { span: ToolSpan }) {
  const result = span.events.find(({ event }) => event === "tool-completed");
  return (
    <details class="turn tool" data-testid="tool-card" data-status={said("tool-card", span.status)}>
      <summary>
        <Status is={span.status} /> <code>{span.title}</code>
        {span.decision !== null && <span class="quiet"> {span.decision.reason}</span>}
      </summary>
      <pre class="text">{prettyJson(argumentsOf(span))}</pre>
      {result?.event === "tool-completed" && <pre class="text">{result.data.preview}</pre>}
      {span.status === "failed" && <p class="text">{span.detail}</p>}
    </details>
  );
}

function argumentsOf({ events }: ToolSpan): string {
  const asked = events.find(({ event }) => event === "tool-requested");
  return asked?.event === "tool-requested" ? asked.data.argsPreview : "";
}
