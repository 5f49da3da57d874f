import type { PolicyRule } from "@switchyard/client/operations";
import { useEffect } from "preact/hooks";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { useResource } from "../core/resource.ts";
import { filterOf } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { LoadMore } from "../ui/load-more.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";

const TIERS = {
  auto: "no person approves",
  session: "a person approves once for calls like it",
  always: "a person approves each time",
} as const;

/** Pages are loaded by themselves up to this many rules, so that all denies are first. */
const LOADED_UNASKED = 1_000;

/** The rules in force in words, those that deny first: a deny always wins. */
export function Rules() {
  const list = useResource("GET /policy/rules", {}, ["other"]);
  const digest = list.data?.policyDigest ?? "";
  const more = useMoreRows(digest, list.data?.next ?? null, async (after) => {
    const page = await client.request("GET /policy/rules", { query: { after } });
    return { rows: page.rules, next: page.next };
  });
  useEffect(() => {
    if (more.isMore && more.rows.length < LOADED_UNASKED) more.load();
  }, [more.isMore, more.rows.length, digest]);
  const search = filterOf("q").toLowerCase();
  const fits = ({ id, who, what, note }: PolicyRule): boolean =>
    `${id} ${who} ${what} ${note ?? ""}`.toLowerCase().includes(search);
  return (
    <ResourceView
      of={list}
      empty={(data) =>
        data.rules.length > 0 ? null : <p>There is no rule: every call is denied.</p>
      }
    >
      {(data) => (
        <>
          <div class="filters">
            <SearchField label="Search rules" placeholder="Id, who, or what…" />
          </div>
          <div class="table-box" tabIndex={0} role="region" aria-label="Rules in force">
            <table class="plain rules as-cards" data-testid="rules">
              <thead>
                <tr>
                  <th scope="col">Rule</th>
                  <th scope="col">Effect</th>
                  <th scope="col">Who</th>
                  <th scope="col">What</th>
                  <th scope="col">When</th>
                  <th scope="col">Approval</th>
                  {may("GET /policy/texts") && <th scope="col">Change</th>}
                </tr>
              </thead>
              <tbody>
                {joined(data.rules, more.rows, ({ id }) => id)
                  .filter(fits)
                  .toSorted(deniesFirst)
                  .map((rule) => (
                    <RuleRow key={rule.id} {...rule} />
                  ))}
              </tbody>
            </table>
          </div>
          <LoadMore of={more} />
        </>
      )}
    </ResourceView>
  );
}

function RuleRow({ id, effect, tier, approve, who, what, when, note }: PolicyRule) {
  return (
    <tr data-testid="rule" data-status={said("rule", effect)}>
      <td data-title="Rule">
        <code>{id}</code>
        {note !== null && <p class="quiet">{note}</p>}
      </td>
      <td data-title="Effect">
        <Status is={effect} />
      </td>
      <td data-title="Who">{who}</td>
      <td data-title="What">{what}</td>
      <td data-title="When">
        {when.length === 0 ? <span class="quiet">whatever the arguments</span> : when.join("; ")}
      </td>
      <td data-title="Approval">
        {effect === "allow" && (tier === undefined ? "as the tool itself says" : TIERS[tier])}
        {approve !== undefined && `; ${approve}`}
      </td>
      {may("GET /policy/texts") && (
        <td data-title="Change">
          <a class="button small" href={editHref(id)} aria-label={`Edit ${id}`}>
            Edit
          </a>
        </td>
      )}
    </tr>
  );
}

/** The address of the draft with the rule selected. */
export function editHref(rule: string): string {
  return `/policy?view=draft&edit=${encodeURIComponent(rule)}`;
}

function deniesFirst(one: PolicyRule, other: PolicyRule): number {
  return Number(other.effect === "deny") - Number(one.effect === "deny");
}
