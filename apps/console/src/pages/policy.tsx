import type { StopScope, ToolRef } from "@switchyard/client/operations";
import { useEffect, useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { textsOf } from "../core/form.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { callerName, client, may } from "../core/session.ts";
import { Id } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status, toneOf } from "../ui/status.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Time } from "../ui/time.tsx";
import { PolicyDraft } from "./policy-draft.tsx";

const TABS = [
  { id: "explain", title: "Explain" },
  { id: "who", title: "Who can" },
  { id: "draft", title: "Check a draft" },
  { id: "versions", title: "Versions" },
  { id: "stops", title: "Stops" },
];

export function Policy() {
  const view = filterOf("view") || "explain";
  return (
    <Page
      title="Policy"
      about="What may be called, by whom, and when a person is asked. What no rule allows is denied."
      cli="yard policy explain files.write_file --agent demo"
      nats={`nats req yard.rpc.${callerName()}.policy.versions '{}'`}
    >
      <Tabs
        label="Parts of the policy"
        tabs={TABS}
        chosen={view}
        onChoose={(id) => setFilter("view", id === "explain" ? "" : id)}
      />
      <div role="tabpanel" aria-label={view} class="side">
        {view === "explain" && <Explain />}
        {view === "who" && <WhoCan />}
        {view === "draft" && <PolicyDraft />}
        {view === "versions" && <Versions />}
        {view === "stops" && <Stops />}
      </div>
    </Page>
  );
}

/** `mcp__files__read_file` or `files.read_file` is a server's tool; a bare name is a built-in one. */
function toolRefOf(name: string): ToolRef {
  const [, server, tool] =
    /^mcp__([^_].*?)__(.+)$/.exec(name) ?? /^([^.]+)\.(.+)$/.exec(name) ?? [];
  if (server === undefined || tool === undefined) return { name, server: null, tool: name };
  return { name: `mcp__${server}__${tool}`, server, tool };
}

function ToolField() {
  const tools = useResource("GET /tools", may("GET /tools") ? {} : null);
  const builtin = useResource("GET /tools/builtin", may("GET /tools/builtin") ? {} : null);
  const names = [...(tools.data?.tools ?? []), ...(builtin.data?.tools ?? [])];
  return (
    <label class="field">
      <span>Tool</span>
      <input name="tool" required list="tool-names" defaultValue={filterOf("tool")} />
      <datalist id="tool-names">
        {names.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

function Explain() {
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
              data-status={decision.effect}
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

function WhoCan() {
  const tool = filterOf("tool");
  const reach = useResource(
    "POST /policy/who-can",
    tool === "" ? null : { body: { tool: toolRefOf(tool) } },
  );
  return (
    <>
      <form class="card" onSubmit={(event) => setFilter("tool", textsOf(event)("tool").trim())}>
        <ToolField />
        <div class="actions">
          <button class="button primary">Who can call it</button>
        </div>
      </form>
      <ResourceView
        of={reach}
        empty={(data) => (data.reach.length > 0 ? null : <p>Nobody: no rule allows it.</p>)}
      >
        {(data) => (
          <ul class="lines card" data-testid="reach">
            {data.reach.map(({ rule, tier, users, agents, conditional, except }) => (
              <li key={rule}>
                <code>{rule}</code>
                <span>
                  users: {listed(users)}; agents: {listed(agents)}
                  {tier !== "auto" && `; a person is asked (${tier})`}
                  {conditional && "; only with some arguments"}
                  {except.length > 0 && `; but for ${except.join(", ")}`}
                </span>
              </li>
            ))}
            {data.deniedBy.length > 0 && <li>Denied by {data.deniedBy.join(", ")}.</li>}
          </ul>
        )}
      </ResourceView>
    </>
  );
}

function listed(names: readonly string[] | null): string {
  return names?.join(", ") ?? "everybody";
}

function Versions() {
  const versions = useResource("GET /policy/versions", {});
  const activate = async (version: number): Promise<void> => {
    const note = await ask({
      title: `Activate version ${version}?`,
      text: "It decides about each call from then on.",
      action: `Activate version ${version}`,
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const body = { version, ...(note.trim() !== "" && { note: note.trim() }) };
    await act(`Version ${version} is active`, () =>
      client.request("POST /policy/activate", { body }),
    );
    versions.reload();
  };
  return (
    <ResourceView of={versions}>
      {(data) => (
        <>
          <p>
            {data.followsFiles
              ? "The rules follow their files: an edit counts at once."
              : "The rules are an activated version; edits of the files do not count."}
          </p>
          {(data.filesRefused ?? []).map((problem) => (
            <p key={problem} class="note bad">
              The files are refused: {problem}
            </p>
          ))}
          <ul class="lines card" data-testid="policy-versions">
            {data.versions.map(({ version, policyDigest, rules, source, by, at, note }) => (
              <li key={version}>
                <strong>{version}</strong>
                <span>
                  {count(rules, "rule")}, {source === "file" ? "from files" : `by ${by ?? "?"}`},{" "}
                  <Time at={at} />
                  {note !== null && `: ${note}`}
                </span>
                <Id value={policyDigest} shown={policyDigest.slice(0, 18)} />
                {policyDigest === data.policyDigest ? (
                  <Status is="active" />
                ) : may("POST /policy/activate") ? (
                  <button type="button" class="button small" onClick={() => void activate(version)}>
                    Activate
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </ResourceView>
  );
}

function Stops() {
  const stops = useResource("GET /policy/stops", {});
  const resume = async (scope: StopScope): Promise<void> => {
    await act("Calls go on", () =>
      client.request("POST /policy/stops/resume", { body: { scope } }),
    );
    stops.reload();
  };
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    const kind = text("kind");
    const scope = (kind === "all" ? { kind } : { kind, name: text("name") }) as StopScope;
    void act("Stopped", () =>
      client.request("POST /policy/stops", { body: { scope, reason: text("reason") } }),
    ).then(stops.reload);
  };
  return (
    <>
      <p>A stop denies every call that it is about, at once, whatever the rules say.</p>
      <ResourceView
        of={stops}
        empty={(data) => (data.stops.length > 0 ? null : <p>Nothing is stopped.</p>)}
      >
        {(data) => (
          <ul class="lines card">
            {data.stops.map(({ scope, reason, by, at }) => (
              <li key={JSON.stringify(scope)}>
                <Status is="blocked">{nameOf(scope)}</Status>
                <span>
                  {reason}, by {by} <Time at={at} />
                </span>
                {may("POST /policy/stops/resume") && (
                  <button type="button" class="button small" onClick={() => void resume(scope)}>
                    Let calls go on
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
      {may("POST /policy/stops") && <NewStop onSubmit={submit} />}
    </>
  );
}

function NewStop({ onSubmit }: { onSubmit: (event: SubmitEvent) => void }) {
  const [kind, setKind] = useState("agent");
  const [isSure, setSure] = useState(false);
  useEffect(() => setSure(false), [kind]);
  return (
    <form class="card" onSubmit={onSubmit}>
      <h2>Stop calls</h2>
      <div class="columns fields">
        <label class="field">
          <span>Of</span>
          <select name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            {["agent", "server", "user", "run", "all"].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        {kind !== "all" && (
          <label class="field">
            <span>Name</span>
            <input name="name" required maxLength={100} />
          </label>
        )}
        <label class="field">
          <span>Reason</span>
          <input name="reason" required maxLength={500} />
        </label>
      </div>
      {kind === "all" && (
        <label class="check">
          <input
            type="checkbox"
            checked={isSure}
            onChange={(event) => setSure(event.currentTarget.checked)}
          />
          Every call of everybody
        </label>
      )}
      <div class="actions">
        <button class="button danger" disabled={kind === "all" && !isSure}>
          Stop calls
        </button>
      </div>
    </form>
  );
}

function nameOf(scope: StopScope): string {
  return scope.kind === "all" ? "all calls" : `${scope.kind} ${scope.name}`;
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
