import type { LintFinding } from "@switchyard/contracts/policy/policy-texts";
import { compilePeople } from "../rights/people.ts";
import type { Bundle } from "../schema/bundle.ts";
import { usersNamed } from "./approve-terms.ts";

/**
 * Rules whose calls can never be approved: `approve` wants more people than its lists name. Only lists without wildcards are
 * certain, since a glob may stand for any number of users.
 */
export function unapprovable(bundle: Bundle): LintFinding[] {
  const persons = compilePeople(bundle);
  const groups = new Map(bundle.groups?.map(({ id, users }) => [id, users]));
  return bundle.rules.flatMap(({ id, approve, who }) => {
    if (approve?.from === undefined) return [];
    const users = usersNamed({ groups }, [...approve.from, ...(approve.escalate?.to ?? [])]);
    if (users.some(hasWildcard)) return [];
    const people = new Set(users.map((user) => persons.personOf(user)));
    const [requester, ...others] = who?.users ?? [];
    const isOneRequester =
      requester !== undefined && others.length === 0 && !hasWildcard(requester);
    if (approve.notRequester === true && isOneRequester) people.delete(persons.personOf(requester));
    const { count = 1 } = approve;
    if (people.size >= count) return [];
    const named = people.size === 0 ? "no person" : `only ${[...people].toSorted().join(" and ")}`;
    const message = `calls of rule ${id} can never be approved: it wants ${count === 1 ? "one person" : `${count} people`}, and its lists name ${named}`;
    return [{ kind: "unapprovable", rule: id, message }];
  });
}

function hasWildcard(name: string): boolean {
  return /[*?]/.test(name);
}
