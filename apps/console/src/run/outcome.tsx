import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import type { RunDetail } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { firstWords } from "../core/names.ts";
import { act } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Markdown } from "../ui/markdown.tsx";
import { saidCode } from "../ui/statuses.ts";
import { failureWords } from "./failure-words.ts";
import { RaiseLimit } from "./raise-limit.tsx";
import { isOver } from "./is-over.ts";
import { isBehind, type RunWord, type StorySoFar } from "./run-story.ts";
import { headline, RunWaits, waitsOf } from "./run-waits.tsx";

interface Props {
  readonly run: RunDetail | null;
  readonly status: RunWord;
  readonly story: StorySoFar;
}

/** The first facts about a run: its input, its answer, and why it stopped or waits. Always in view. */
export function Outcome({ run, status, story }: Props) {
  return (
    <>
      <section class="outcome" aria-label="Input and outcome" data-testid="outcome">
        {run !== null && (
          <Part title={`Asked by ${run.requester}`}>
            <p class="text scrolls" tabIndex={0} role="group" aria-label="Input">
              {inputText(run.input, 2)}
            </p>
          </Part>
        )}
        <Ending run={run} status={status} story={story} />
      </section>
      <OutcomeLine run={run} status={status} story={story} />
    </>
  );
}

const LINE_CHARACTERS = 200;

/** The same in one line, at the edge of the screen behind which the whole is. */
function OutcomeLine({ run, status, story }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const whole = box.current?.previousElementSibling;
    if (!whole) return undefined;
    const seen = new IntersectionObserver(
      ([entry]) => setAway(entry !== undefined && isMostlyAway(entry)),
      { threshold: SHARES },
    );
    seen.observe(whole);
    return () => seen.disconnect();
  }, []);
  return (
    <div ref={box} class="outcome-line">
      {isAway && (
        <button
          type="button"
          title="Go to the input and the outcome"
          onClick={() => box.current?.previousElementSibling?.scrollIntoView({ block: "center" })}
          data-testid="outcome-line"
        >
          {run !== null && (
            <span>
              <b>Asked</b> {firstWords(run.input, LINE_CHARACTERS)}
            </span>
          )}
          <span>{endingLine({ run, status, story })}</span>
        </button>
      )}
    </div>
  );
}

/** The share of the outcome that has to be in sight, or the share of the screen that it has to fill; with less the line is shown. */
const MOSTLY = 0.5;
const SHARES = Array.from({ length: 21 }, (_, index) => index / 20);

function isMostlyAway({ intersectionRatio, intersectionRect }: IntersectionObserverEntry): boolean {
  return intersectionRatio < MOSTLY && intersectionRect.height < innerHeight * MOSTLY;
}

function endingLine({ run, status, story }: Props): ComponentChildren {
  const failure = status === "rejected" ? story.rejection : (run?.failure ?? null);
  if (failure !== null && isOver(status) && status !== "succeeded")
    return (
      <>
        <b class="bad">Stopped</b> {failureWords(failure)}: {failure.message}
      </>
    );
  const output = run?.output ?? story.output;
  if (status === "succeeded" && output !== null)
    return (
      <>
        <b>Answered</b> {firstWords(output, LINE_CHARACTERS)}
      </>
    );
  if (status === "cancelled") return <b>It was cancelled</b>;
  if (run !== null && status === "waiting")
    return <b>{waitsOf(run, story).map(headline).join(" · ")}</b>;
  return progressText(run, status, story);
}

function Part(props: { title: string; tone?: string; children: ComponentChildren }) {
  return (
    <div class={`part ${props.tone ?? ""}`}>
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

function Ending({ run, status, story }: Props) {
  const failure = status === "rejected" ? story.rejection : (run?.failure ?? null);
  if (failure !== null && isOver(status) && status !== "succeeded")
    return (
      <Part title="Why it stopped" tone="bad">
        <Failure run={run} failure={failure} />
      </Part>
    );
  if (status === "cancelled") return <Cancelled run={run} />;
  const output = run?.output ?? story.output;
  if (status === "succeeded" && output !== null)
    return (
      <Part title="Answered">
        <div class="scrolls" tabIndex={0} role="group" aria-label="Answer" data-testid="output">
          <Markdown text={output} />
        </div>
      </Part>
    );
  if (run !== null && status === "waiting") return <RunWaits run={run} story={story} />;
  return (
    <Part title="Not answered yet">
      <p class="quiet">{progressText(run, status, story)}</p>
    </Part>
  );
}

/** The state of a run that has not ended and does not wait. */
function progressText(run: RunDetail | null, status: RunWord, story: StorySoFar): string {
  if (status === "queued") return "It waits in the queue for a runner.";
  if (status === "merged") return "It became part of another run of its session.";
  if (run?.suspended !== undefined && isBehind(story, run)) return `Held up: ${run.suspended}.`;
  const open = story.spans.findLast(({ kind, endMs }) => kind === "tool" && endMs === null);
  return open === undefined ? "The model works on it." : `It calls ${open.title}.`;
}

/** A failure in words, with the one action that helps. The code is for programs and searches. */
function Failure(props: {
  run: RunDetail | null;
  failure: NonNullable<RunDetail["failure"]>;
}): ComponentChildren {
  const { run, failure } = props;
  return (
    <div data-testid="failure" data-status={saidCode("failure", failure.code)} class="side">
      <strong>{failureWords(failure)}</strong>
      <p class="text scrolls" tabIndex={0} role="group" aria-label="Message">
        {failure.message} <code class="quiet">{failure.code}</code>
      </p>
      {run !== null &&
        (failure.limit === undefined ? (
          <Retry runId={run.runId} />
        ) : (
          <RaiseLimit runId={run.runId} reached={failure.limit} how="retry" />
        ))}
    </div>
  );
}

function Cancelled({ run }: { run: RunDetail | null }) {
  const cancellation = run?.cancellation ?? null;
  return (
    <Part title="Why it stopped">
      <p class="text">
        {cancellation === null ? "It was cancelled." : `${cancellation.by} cancelled it`}
        {cancellation?.reason ? `: ${cancellation.reason}` : ""}
      </p>
      {run !== null && <Retry runId={run.runId} />}
    </Part>
  );
}

function Retry({ runId }: { runId: string }) {
  if (!may("POST /runs/{runId}/retry")) return null;
  const retry = (): void =>
    void act("The run continues", () =>
      client.request("POST /runs/{runId}/retry", { path: { runId }, body: {} }),
    );
  return (
    <div class="actions">
      <button type="button" class="button primary" onClick={retry} data-testid="retry">
        Retry
      </button>
    </div>
  );
}

/** Servers whose tools were missing; folded unless the run called a tool of one. */
export function MissingTools({ story }: { story: StorySoFar }) {
  if (story.unavailable.length === 0) return null;
  const isUsed = story.unavailable.some(({ server }) => story.servers.has(server));
  const names = story.unavailable.map(({ server }) => server).join(", ");
  return (
    <details class="missing" open={isUsed} data-testid="tools-unavailable">
      <summary>
        {isUsed ? "Missing tools of servers that it used" : "Missing tools, which it did not use"}:{" "}
        {names}
      </summary>
      <ul class="lines">
        {story.unavailable.map(({ server, reason }) => (
          <li key={server}>
            <a href={`/servers/${encodeURIComponent(server)}`}>{server}</a>
            <span>{reason}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
