import { useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { textsOf } from "../core/form.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { callerName } from "../core/session.ts";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said, toneOf } from "../ui/statuses.ts";
import { ToolField, toolRefOf } from "./tool-field.tsx";

/** What the policy says about one call, and which rules it looked at. */
export function Explain() {
  const tool = filterOf("tool");
  const agent = filterOf("agent");
  const user = filterOf("user") || callerName();
  const argsText = filterOf("args") || "{}";
  const [problem, setProblem] = useState("");
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    try {
      JSON.parse(text("args") || "{}");
      setProblem("");
    } catch {
      setProblem("The arguments are not JSON.");
      return;
    }
    for (const name of ["tool", "agent", "user", "args"]) setFilter(name, text(name).trim());
  };
  const body = {
    user,
    ...(agent !== "" && { agent }),
    tool: toolRefOf(tool),
    args: objectOf(argsText),
  };
  const explained = useResource("POST /policy/explain", tool === "" ? null : { body });
  return (
    <>
      <form class="card" onSubmit={submit} data-testid="explain">
        <div class="columns fields">
          <ToolField />
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
      <ResourceView of={explained}>
        {({ decision, considered, omitted, limits, nearest }) => (
          <>
            <div
              class={`note ${toneOf(decision.effect)}`}
              data-testid="explained"
              data-status={said("explained", decision.effect)}
            >
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
              {nearest !== null && (
                <p>
                  Nearest: rule <code>{nearest.rule}</code> would allow it if{" "}
                  {nearest.failed
                    .map(({ part, expected, got }) => `${part} were ${expected}, not ${got}`)
                    .join(", and ")}
                  .
                </p>
              )}
            </div>
            <div
              class="table-box"
              tabIndex={0}
              role="region"
              aria-label="Rules that were considered"
            >
              <table class="plain">
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
                      <td>
                        <code>{rule}</code>
                      </td>
                      <td>
                        <Status is={effect} />{" "}
                        {tier !== undefined && tier !== "auto" && `(${tier})`}
                      </td>
                      <td>{match ? "yes" : "no"}</td>
                      <td>
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
    </>
  );
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
