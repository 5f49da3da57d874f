import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { nearestName } from "@switchyard/contracts/nearest-name";
import { allContracts, isEvent } from "@switchyard/contracts/registry";
import { hasRole, refusalOf } from "@switchyard/contracts/user-roles";
import { eventSubjects } from "@switchyard/topology/streams";
import type { User } from "../identity/user-cache.ts";
import { Problem } from "../problems/problem.ts";

const eventContracts = allContracts.filter(isEvent);
const nounsWithOwner = new Set(
  eventContracts
    .filter(({ subject }) => subject.includes(".{owner}."))
    .map(({ subject }) => nounOf(subject)),
);

function nounOf(subject: string): string {
  return subject.split(".")[2] ?? "";
}

/** Returns the names of the events of a noun, such as `finished` of `run`. */
function kindsOf(noun: string): string[] {
  return eventContracts
    .filter(({ subject }) => nounOf(subject) === noun)
    .map(({ subject }) => subject.slice(subject.lastIndexOf(".") + 1));
}

const TOKEN = /^[\w~-]{1,100}$/;

/** The installation's own command line reads the events of all callers. */
export function isCommandLine({ caller, roles }: User): boolean {
  return caller === "cli" && roles.includes("admin");
}

/** Returns the subjects of the events that the parameters of `GET /events` select. Throws a Problem for parameters that select none. */
export function filtersFor(
  user: User,
  { noun, id, kind }: Readonly<Partial<Record<"noun" | "id" | "kind", string | undefined>>>,
): string[] {
  const { caller, roles } = user;
  if ([noun, id, kind].some((token) => token !== undefined && !TOKEN.test(token)))
    throw invalid("noun, id and event are 1-100 characters of A-Z a-z 0-9 _ - ~");
  if ((id ?? kind) !== undefined && noun === undefined) throw invalid("id and event go with noun");
  // The installation's own command line receives the events of all callers, as over NATS.
  const readsAll = isCommandLine(user);
  if (readsAll && noun === undefined) return [...eventSubjects];
  const wanted = noun === undefined ? [...nounsWithOwner] : [noun];
  const missed = wanted.filter((one) => readsAll || nounsWithOwner.has(one));
  if (missed.length === 0)
    throw new Problem({
      status: 404,
      code: "unknown_noun",
      detail: `you have no access to events of ${noun ?? ""}${meantText(noun, [...nounsWithOwner])}`,
    });
  if (noun !== undefined && kind !== undefined && !kindsOf(noun).includes(kind))
    throw invalid(`event: ${noun} has none of this name${meantText(kind, kindsOf(noun))}`);
  // An approver lists approvals of others, too; `approvalFilter` leaves out those that the approver may not decide.
  const decides = hasRole(roles, "approver") && refusalOf(listApprovals, user) === null;
  const readsAllOf = (one: string): boolean => readsAll || (decides && one === "approval");
  const object = id === undefined ? null : id.slice(id.indexOf("~") + 1);
  const rest =
    kind === undefined ? [...(object === null ? [] : [object]), ">"] : [object ?? "*", kind];
  return missed.map((one) => {
    const owner = nounsWithOwner.has(one) ? `${readsAllOf(one) ? "*" : caller}.` : "";
    return `yard.evt.${one}.${owner}${rest.join(".")}`;
  });
}

function meantText(name: string | undefined, known: readonly string[]): string {
  const meant = name === undefined ? null : nearestName(name, known);
  return meant === null ? "" : `; did you mean ${meant}?`;
}

/** Returns whether a subject matches a filter of {@link filtersFor}. */
export function isWithin(subject: string, filter: string): boolean {
  const parts = subject.split(".");
  return filter.split(".").every((word, index) => {
    if (word === ">") return parts.length > index;
    return word === "*" || word === parts[index];
  });
}

function invalid(detail: string): Problem {
  return new Problem({ status: 400, code: "invalid_request", detail });
}
