import { textsOf } from "../core/form.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { callerName } from "../core/session.ts";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { PolicyDraft } from "./policy-draft.tsx";
import { Explain } from "./policy-explain.tsx";
import { InForce } from "./policy-in-force.tsx";
import { Rules } from "./policy-rules.tsx";
import { Stops } from "./policy-stops.tsx";
import { Versions } from "./policy-versions.tsx";
import { ToolField, toolRefOf } from "./tool-field.tsx";

const TABS = [
  { id: "rules", title: "Rules" },
  { id: "explain", title: "Explain" },
  { id: "who", title: "Who can" },
  { id: "draft", title: "Draft" },
  { id: "versions", title: "Versions" },
  { id: "stops", title: "Stops" },
];

/** The same elsewhere: as a command, and as a request `policy.…` on the bus. */
function elsewhere(view: string, tool: string): { cli: string; request: string } {
  const about = { tool: toolRefOf(tool) };
  switch (view) {
    case "explain":
      return {
        cli: `yard policy explain ${tool}`,
        request: `explain '${JSON.stringify({ user: callerName(), ...about, args: {} })}'`,
      };
    case "who":
      return { cli: `yard policy who-can ${tool}`, request: `who-can '${JSON.stringify(about)}'` };
    case "draft":
      return { cli: "yard policy lint policy.yaml", request: "validate '{}'" };
    case "versions":
      return { cli: "yard policy versions", request: "versions '{}'" };
    case "stops":
      return { cli: "yard policy stops", request: "stops '{}'" };
    default:
      return { cli: "yard policy rules", request: "rules '{}'" };
  }
}

export function Policy() {
  // A link to a tool is a question about it.
  const tool = filterOf("tool");
  const isOfCall = filterOf("call") !== "";
  const view = filterOf("view") || (tool === "" && !isOfCall ? "rules" : "explain");
  const versions = useResource("GET /policy/versions", {}, ["other"]);
  const { cli, request } = elsewhere(view, tool || "files.read_file");
  return (
    <Page
      title="Policy"
      about="What may be called, by whom, and when a person has to approve. What no rule allows is denied."
      cli={cli}
      nats={`nats req yard.rpc.${callerName()}.policy.${request}`}
    >
      <InForce of={versions} />
      <Tabs
        label="Parts of the policy"
        tabs={TABS}
        chosen={view}
        onChoose={(id) => setFilter("view", id)}
      />
      <div role="tabpanel" aria-label={view} class="side">
        {view === "rules" && <Rules />}
        {view === "explain" && <Explain />}
        {view === "who" && <WhoCan />}
        {view === "draft" && <PolicyDraft of={versions} />}
        {view === "versions" && <Versions of={versions} />}
        {view === "stops" && <Stops />}
      </div>
    </Page>
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
        empty={(data) => (data.reach.length > 0 ? null : <p>No principal: no rule allows it.</p>)}
      >
        {(data) => (
          <ul class="lines card" data-testid="reach">
            {data.reach.map(({ rule, tier, users, agents, conditional, except }) => (
              <li key={rule}>
                <code>{rule}</code>
                <span>
                  users: {listed(users)}; agents: {listed(agents)}
                  {tier !== "auto" && `; a person approves (${tier})`}
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
