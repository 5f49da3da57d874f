import type { Request } from "@switchyard/client/client";
import type { Decision } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { textsOf } from "../core/form.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { callerName, may } from "../core/session.ts";
import { useRecordedCall, type RecordedCall } from "../run/recorded-call.ts";
import { Id } from "../ui/copy.tsx";
import { RunLink } from "../ui/run-link.tsx";
import { Loading, ProblemNote, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said, toneOf } from "../ui/statuses.ts";
import { editHref } from "./policy-rules.tsx";
import { ruleFor } from "./rule-text.ts";
import { ToolField, toolRefOf } from "./tool-field.tsx";

type Question = Request<"POST /policy/explain">["body"];

/** Explains how the policy decides about one call: a recorded one of a run, or any that a person describes. */
export function Explain() {
  const [runId, callId] = [filterOf("run"), filterOf("call")];
  return runId === "" || callId === "" ? (
    <ExplainAny />
  ) : (
    <ExplainRecorded key={`${runId} ${callId}`} runId={runId} callId={callId} />
  );
}

function ExplainAny() {
  const tool = filterOf("tool");
  const agent = filterOf("agent");
  const user = filterOf("user") || callerName();
  const argsText = filterOf("args") || "{}";
  const body: Question = {
    user,
    ...(agent !== "" && { agent }),
    tool: toolRefOf(tool),
    args: objectOf(argsText) ?? {},
  };
  return (
    <>
      <QuestionForm {...{ tool, agent, user, argsText }} />
      {tool !== "" && <Explained body={body} recorded={null} />}
    </>
  );
}

/** The recorded call, with all facts about its run that the policy had. */
function ExplainRecorded({ runId, callId }: { runId: string; callId: string }) {
  const read = useRecordedCall(runId, callId);
  if (read === null) return <Loading />;
  if ("problem" in read) return <ProblemNote problem={read.problem} />;
  const { run, tool, argsText } = read.call;
  const { roles = [], context, approval, toolLayers } = run.authority ?? {};
  const body: Question = {
    user: run.requester,
    agent: run.agent,
    runId: run.runId,
    ...(roles.length > 0 && { roles }),
    ...(context !== undefined && { context }),
    ...(approval !== undefined && { approval }),
    ...(toolLayers !== undefined && { toolLayers }),
    tool: toolRefOf(tool),
    args: objectOf(argsText) ?? {},
  };
  return (
    <>
      <QuestionForm {...{ tool, agent: run.agent, user: run.requester, argsText }} />
      <Explained body={body} recorded={read.call} />
    </>
  );
}

interface Written {
  readonly tool: string;
  readonly agent: string;
  readonly user: string;
  readonly argsText: string;
}

function QuestionForm({ tool, agent, user, argsText }: Written) {
  const [problem, setProblem] = useState("");
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    if (objectOf(text("args") || "{}") === null) {
      setProblem("The arguments are not a JSON object.");
      return;
    }
    setProblem("");
    for (const name of ["run", "call"]) setFilter(name, "");
    for (const name of ["tool", "agent", "user", "args"]) setFilter(name, text(name).trim());
  };
  return (
    <form class="card" onSubmit={submit} data-testid="explain">
      <div class="columns fields">
        <ToolField name={tool} />
        <label class="field">
          <span>Agent (optional)</span>
          <input name="agent" defaultValue={agent} maxLength={64} />
        </label>
        <label class="field">
          <span>For</span>
          <input name="user" defaultValue={user} required maxLength={32} />
        </label>
      </div>
      <label class="field">
        <span>Arguments as JSON</span>
        <textarea name="args" class="code" rows={2} defaultValue={argsText} />
      </label>
      {problem !== "" && <p role="alert">{problem}</p>}
      <div class="actions">
        <button class="button primary">Explain</button>
      </div>
    </form>
  );
}

function Explained({ body, recorded }: { body: Question; recorded: RecordedCall | null }) {
  const explained = useResource("POST /policy/explain", { body });
  return (
    <ResourceView of={explained}>
      {({ decision, considered, omitted, limits, nearest }) => (
        <>
          {recorded !== null && <Recorded recorded={recorded} now={decision} />}
          <div
            class={`note ${toneOf(decision.effect)}`}
            data-testid="explained"
            data-status={said("explained", decision.effect)}
          >
            {recorded !== null && <p class="label">By the rules in force now</p>}
            <DecisionLine decision={decision} />
            {nearest !== null && (
              <p>
                Nearest: rule <code>{nearest.rule}</code> would allow it if{" "}
                {nearest.failed
                  .map(({ part, expected, got }) => `${part} were ${expected}, not ${got}`)
                  .join(", and ")}
                .
              </p>
            )}
            <ChangeRule body={body} decision={decision} limits={limits ?? []} />
          </div>
          <div class="table-box" tabIndex={0} role="region" aria-label="Rules that were considered">
            <table class="plain as-cards">
              <thead>
                <tr>
                  <th scope="col">Rule</th>
                  <th scope="col">Says</th>
                  <th scope="col">Fits</th>
                  <th scope="col">Why not</th>
                </tr>
              </thead>
              <tbody>
                {considered.map(({ rule, effect, match, failed, tier }) => (
                  <tr key={rule}>
                    <td data-title="Rule">
                      <code>{rule}</code>
                    </td>
                    <td data-title="Says">
                      <Status is={effect} /> {tier !== undefined && tier !== "auto" && `(${tier})`}
                    </td>
                    <td data-title="Fits">{match ? "yes" : "no"}</td>
                    <td data-title="Why not">
                      {failed !== null &&
                        `${failed.part}: wants ${failed.expected}, this has ${failed.got}`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {omitted > 0 && <p class="quiet">{count(omitted, "rule")} more do not fit.</p>}
          {(limits ?? []).map(({ kind, name, passes, detail }) => (
            <p key={`${kind} ${name}`}>
              <Status is={passes ? "allow" : "deny"}>{passes ? "passes" : "keeps it out"}</Status>{" "}
              {kind} {name}: {detail}
            </p>
          ))}
        </>
      )}
    </ResourceView>
  );
}

/** Opens the draft at the rule that decided, or with a new rule where no rule allows the call. */
function ChangeRule(props: {
  body: Question;
  decision: Decision;
  limits: readonly { readonly passes: boolean }[];
}) {
  const { body, decision, limits } = props;
  if (!may("GET /policy/texts")) return null;
  const { effect, rule, stop } = decision;
  if (rule !== null)
    return (
      <a class="button small" href={editHref(rule)} data-testid="edit-rule">
        Edit rule {rule} in the draft
      </a>
    );
  const isByNoRule =
    effect === "deny" && stop === undefined && limits.every(({ passes }) => passes);
  if (!isByNoRule) return null;
  const principal = { user: body.user, agent: body.agent ?? null };
  const text = ruleFor({ tool: body.tool, principal }, JSON.stringify(body.args));
  return (
    <a
      class="button small"
      href={`/policy?view=draft&rule=${encodeURIComponent(text)}`}
      data-testid="make-rule"
    >
      Make a rule from this denial…
    </a>
  );
}

/** The recorded decision, which later rules do not change, and the reasons for which the explanation may differ from it. */
function Recorded({ recorded, now }: { recorded: RecordedCall; now: Decision }) {
  const { run, decision, isArgsChanged } = recorded;
  const isOfOtherRules = decision.policyDigest !== now.policyDigest;
  const isOtherwise = decision.effect !== now.effect || decision.rule !== now.rule;
  return (
    <div class={`note ${toneOf(decision.effect)}`} data-testid="recorded-decision">
      <p class="label">
        As it was decided in <RunLink runId={run.runId} />
      </p>
      <DecisionLine decision={decision} />
      <p class="quiet">
        Rules <Id value={decision.policyDigest} shown={decision.policyDigest.slice(0, 18)} />
        {isOfOtherRules ? (
          <>
            ; those in force now are others (
            <Id value={now.policyDigest} shown={now.policyDigest.slice(0, 18)} />)
          </>
        ) : (
          ", which are in force"
        )}
      </p>
      {isArgsChanged && (
        <p>
          Values of the arguments were redacted or cut when they were recorded, so conditions on
          them cannot be decided again.
        </p>
      )}
      {isOtherwise && !isOfOtherRules && !isArgsChanged && (
        <p>
          Stops, budgets, flow labels and the runs above this one counted as they were then; the
          explanation below has those of now.
        </p>
      )}
    </div>
  );
}

function DecisionLine({ decision }: { decision: Decision }) {
  return (
    <>
      <strong>
        <Status is={decision.effect} />
        {decision.rule !== null && (
          <>
            {" by rule "}
            <code>{decision.rule}</code>
          </>
        )}
      </strong>
      <p>{decision.reason}</p>
    </>
  );
}

/** Null for what is no JSON object, such as arguments that were cut. */
function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
