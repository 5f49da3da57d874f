import type { Need } from "../core/needs.ts";
import { count } from "../core/format.ts";
import { runText, toolText } from "../core/names.ts";
import { act, useResource } from "../core/resource.ts";
import { useSeen } from "../core/seen.ts";
import { client, may } from "../core/session.ts";
import { AnswerQuestion } from "../run/answer-question.tsx";
import { failureWords } from "../run/failure-words.ts";
import { limitText } from "../run/limits.ts";
import { RaiseLimit } from "../run/raise-limit.tsx";
import { Empty, ResourceView } from "../ui/resource-view.tsx";
import { RunLink } from "../ui/run-link.tsx";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { ServerQuestion } from "./server-question.tsx";

interface Line {
  readonly title: string;
  readonly about: string;
}

/** The words of one need in the list. */
function lineOf(need: Need): Line {
  switch (need.kind) {
    case "question":
      return { title: need.question.question, about: `question of ${need.question.agent}` };
    case "elicitation":
      return { title: need.question.message, about: `question of server ${need.question.server}` };
    case "limit":
      return { title: runText(need.run), about: "reached a limit" };
    case "dead":
      return { title: runText(need.run), about: "its runners died" };
    case "letter":
      return { title: need.letter.runId, about: "a command that runners died of" };
    case "pins":
      return {
        title: need.server.name,
        about: `${count(need.pins.length, "tool")} of the server new or changed`,
      };
    case "withheld":
      return { title: need.withheld.name, about: `withheld ${need.withheld.kind}` };
    default:
      return need satisfies never;
  }
}

/** Everything beside calls that needs the person: questions of runs and servers, reached limits, dead runs, changed pins, withheld skills. */
export function OtherNeeds(props: {
  needs: readonly Need[];
  opened: string;
  onOpen: (id: string) => void;
}) {
  const { needs, opened, onOpen } = props;
  if (needs.length === 0) return null;
  return (
    <ul class="inbox" aria-label="Questions, limits and what is held back" data-testid="needs">
      {needs.map((need) => {
        const { title, about } = lineOf(need);
        return (
          <li key={need.id}>
            <button
              type="button"
              aria-pressed={need.id === opened}
              data-testid="need"
              data-status={said("need", need.kind)}
              onClick={() => onOpen(need.id)}
            >
              <strong class="clip">{title}</strong>
              <span class="quiet">{about}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** One of them with the action that settles it; null: it has been settled meanwhile. */
export function NeedDetail({ need }: { need: Need | null }) {
  if (need === null)
    return (
      <Empty>
        <p>This has been settled, or has expired.</p>
      </Empty>
    );
  return (
    <section class="card" aria-label="What is needed" data-testid="need-detail">
      <Body need={need} />
    </section>
  );
}

function Body({ need }: { need: Need }) {
  switch (need.kind) {
    case "question":
      return <QuestionBody {...need.question} />;
    case "elicitation":
      return <ServerQuestion {...need.question} />;
    case "limit":
      return <LimitBody runId={need.run.runId} />;
    case "dead":
      return (
        <>
          <h2>{failureWords(need.run.failure)}</h2>
          <p class="text">{need.run.failure.message}</p>
          <p>
            <RunLink runId={need.run.runId} />
          </p>
          {may("POST /runs/{runId}/retry") && <RetryDead runId={need.run.runId} />}
        </>
      );
    case "letter":
      return (
        <>
          <h2>{failureWords(need.letter.failure)}</h2>
          <p class="text">{need.letter.failure.message}</p>
          <p>
            Command <code>{need.letter.subject}</code>
          </p>
          <a class="button" href="/system">
            Send it again in System
          </a>
        </>
      );
    case "pins":
      return (
        <>
          <h2>Tools of {need.server.name} are held back</h2>
          <p>Their definition is new or has changed; no call is made before it is approved.</p>
          <ul class="lines">
            {need.pins.map(({ tool, state }) => (
              <li key={tool}>
                <strong>{toolText(tool)}</strong> <span class="quiet">{state}</span>
              </li>
            ))}
          </ul>
          <a class="button primary" href={`/servers/${encodeURIComponent(need.server.id)}`}>
            Review the changes
          </a>
        </>
      );
    case "withheld": {
      const { kind, name, version, reason, description } = need.withheld;
      return (
        <>
          <h2>
            The {kind} {name} is withheld: {reason}
          </h2>
          <p class="text">{description}</p>
          <a
            class="button primary"
            href={`/review/${kind}s/${encodeURIComponent(name)}?version=${encodeURIComponent(version)}`}
          >
            Review its text and findings
          </a>
        </>
      );
    }
    default:
      return need satisfies never;
  }
}

function QuestionBody(question: Extract<Need, { kind: "question" }>["question"]) {
  const { runId, callId, agent, requester, options, schema, until } = question;
  const isSeen = useSeen(callId);
  return (
    <div class="side" data-testid="question">
      <h2 class="text">{question.question}</h2>
      <p class="quiet">
        <RunLink runId={runId} /> · {agent} for {requester} · expires <Time at={until} />
      </p>
      <AnswerQuestion {...{ runId, callId, options, schema, isSeen }} />
    </div>
  );
}

function LimitBody({ runId }: { runId: string }) {
  const detail = useResource("GET /runs/{runId}", { path: { runId } }, ["run"]);
  return (
    <ResourceView of={detail}>
      {({ run }) => {
        const reached = run.waits?.find(({ limit }) => limit !== undefined)?.limit;
        return (
          <>
            <h2>
              {run.agent} reached its limit of {reached === undefined ? "…" : limitText(reached)}
            </h2>
            <p>
              <RunLink runId={runId} />
            </p>
            {reached !== undefined && <RaiseLimit runId={runId} reached={reached} how="resume" />}
          </>
        );
      }}
    </ResourceView>
  );
}

function RetryDead({ runId }: { runId: string }) {
  const retry = (): void =>
    void act("The run continues", () =>
      client.request("POST /runs/{runId}/retry", { path: { runId }, body: {} }),
    );
  return (
    <div class="actions">
      <button type="button" class="button primary" onClick={retry}>
        Retry
      </button>
    </div>
  );
}
