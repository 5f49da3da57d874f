import type { PolicyRule } from "@switchyard/client/operations";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { useResource } from "../core/resource.ts";
import { filterOf } from "../core/router.ts";
import { client } from "../core/session.ts";
import { LoadMore } from "../ui/load-more.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { Fact } from "../run/run-facts.tsx";

const TIERS = {
  auto: "no person approves",
  session: "a person approves once for calls like it",
  always: "a person approves each time",
} as const;

/** The rules in force, each in words: for whom, about what, with which arguments. */
export function Rules() {
  const list = useResource("GET /policy/rules", {});
  const more = useMoreRows("", list.data?.next ?? null, async (after) => {
    const page = await client.request("GET /policy/rules", { query: { after } });
    return { rows: page.rules, next: page.next };
  });
  const search = filterOf("q").toLowerCase();
  const fits = ({ id, who, what }: PolicyRule): boolean =>
    `${id} ${who} ${what}`.toLowerCase().includes(search);
  return (
    <ResourceView
      of={list}
      empty={(data) =>
        data.rules.length > 0 ? null : <p>There is no rule: every call is denied.</p>
      }
    >
      {(data) => (
        <>
          <SearchField label="Search rules" placeholder="Id, who, or what…" />
          <ul class="cards plain-list" data-testid="rules">
            {joined(data.rules, more.rows, ({ id }) => id)
              .filter(fits)
              .map((rule) => (
                <RuleCard key={rule.id} {...rule} />
              ))}
          </ul>
          <LoadMore of={more} />
        </>
      )}
    </ResourceView>
  );
}

function RuleCard({ id, effect, tier, approve, who, what, when, note }: PolicyRule) {
  return (
    <li class="card" data-testid="rule" data-status={said("rule", effect)}>
      <div class="card-head">
        <h2>{id}</h2>
        <Status is={effect} />
      </div>
      <dl class="facts">
        <Fact name="Who">{who}</Fact>
        <Fact name="What">{what}</Fact>
        <Fact name="When">{when.length === 0 ? "whatever the arguments" : when.join("; ")}</Fact>
        {effect === "allow" && (
          <Fact name="Approval">
            {tier === undefined ? "as the tool itself says" : TIERS[tier]}
          </Fact>
        )}
        {approve !== undefined && <Fact name="Approved by">{approve}</Fact>}
      </dl>
      {note !== null && <p class="quiet">{note}</p>}
    </li>
  );
}
