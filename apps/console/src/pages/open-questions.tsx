import { useArrivals } from "../core/arrivals.ts";
import { shortRunId } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { useSeen } from "../core/seen.ts";
import { may } from "../core/session.ts";
import { AnswerQuestion } from "../run/answer-question.tsx";
import { Time } from "../ui/time.tsx";

const LISTED = 50;

/** Questions that runs of the person wait for, with the way to answer them. */
export function OpenQuestions() {
  const isAllowed = may("GET /runs/questions");
  const list = useResource("GET /runs/questions", isAllowed ? { query: { limit: LISTED } } : null, [
    "run",
  ]);
  const questions = list.data?.questions ?? [];
  // A question answered elsewhere disappears, and the others move up: a click was meant for the one that was there before.
  const isSeen = useSeen(questions.map(({ callId }) => callId).join(" "));
  const { rows } = useArrivals(questions, {
    list: "",
    keyOf: ({ callId }) => callId,
    timeOf: ({ until }) => until,
    opened: "",
  });
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-label="Questions of runs" data-testid="questions">
      <h2>Questions of runs</h2>
      <ul class="lines">
        {rows.map(({ runId, callId, agent, requester, question, options, schema, until }) => (
          <li key={callId} data-testid="question">
            <div class="whole-line">
              <p class="quiet">
                <a href={`/runs/${encodeURIComponent(runId)}`}>
                  {agent} · {shortRunId(runId)}
                </a>{" "}
                for {requester}, continues by itself <Time at={until} />
              </p>
              <p class="text">
                <strong>{question}</strong>
              </p>
              <AnswerQuestion {...{ runId, callId, options, schema, isSeen }} />
            </div>
          </li>
        ))}
      </ul>
      {list.data?.next !== null && (
        <p class="quiet">These are {LISTED}; more are listed when some are answered.</p>
      )}
    </section>
  );
}
