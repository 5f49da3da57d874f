import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type {
  ApprovalRequirement,
  ApprovalVote,
} from "@switchyard/contracts/policy/approval-votes";
import { matchesGlob } from "@switchyard/contracts/glob";
import type { People } from "./people.ts";

/** The users for whom a call is made: the requester of its run, the caller of its tool, and the author of a dictated call. */
export type Requesters = Pick<Approval, "principal"> & Partial<Pick<Approval, "caller">>;

/** A user who approves. */
export interface Voter {
  readonly user: string;
  /** True when it may approve such calls by setting, role or `approvers`. */
  readonly isApprover: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/**
 * Returns the people as whom the user would count for the requirement: itself, or those for whom it is a deputy. Empty when it does
 * not count. The requester does not count where the requirement excludes it, and no deputy ever acts for the requester.
 */
export function countsAs(
  requirement: ApprovalRequirement,
  call: Requesters,
  { user, isApprover, atMs, people }: Voter & { readonly people: People },
): readonly string[] {
  const own = people.personOf(user);
  const isRequester = requestedBy(call, people);
  if (requirement.notRequester && isRequester(own)) return [];
  if (requirement.from === null) return isApprover ? [own] : [];
  return [own, ...people.actsFor(user, atMs)].filter(
    (person) =>
      (person === own || !isRequester(person)) &&
      isNamed(requirement, people.namesOf(person), atMs),
  );
}

/** Returns whether a call is made for a person. */
export function requestedBy(
  { principal, caller }: Requesters,
  people: Pick<People, "personOf">,
): (person: string) => boolean {
  const users = [principal.user, caller, principal.context?.dictatedBy];
  const requesters = new Set(users.map((user) => user && people.personOf(user)));
  return (person) => requesters.has(person);
}

/**
 * Returns how many of the votes count for the requirement. Each vote counts as one person, and no person counts twice: it is the
 * largest assignment of votes to distinct people, so a deputy of a person who votes, too, counts as itself where it can.
 */
export function countVotes(
  requirement: ApprovalRequirement,
  call: Requesters,
  { votes, people }: { readonly votes: readonly ApprovalVote[]; readonly people: People },
): number {
  const byPerson = new Map(votes.map((vote) => [people.personOf(vote.by), vote]));
  const choices = [...byPerson.values()].map(({ by: user, isApprover, at }) =>
    countsAs(requirement, call, { user, isApprover, atMs: Date.parse(at), people }),
  );
  const taken = new Map<string, number>();
  const assign = (voter: number, tried: Set<string>): boolean =>
    (choices[voter] ?? []).some((person) => {
      if (tried.has(person)) return false;
      tried.add(person);
      const holder = taken.get(person);
      if (holder !== undefined && !assign(holder, tried)) return false;
      taken.set(person, voter);
      return true;
    });
  const assigned = choices.filter((_, voter) => assign(voter, new Set())).length;
  return Math.min(assigned, requirement.count);
}

function isNamed(
  { users, escalatesAt, toUsers }: ApprovalRequirement,
  names: readonly string[],
  atMs: number,
): boolean {
  const isEither = (globs: readonly string[]): boolean =>
    globs.some((glob) => names.some((name) => matchesGlob(glob, name)));
  if (isEither(users)) return true;
  return escalatesAt !== null && atMs >= Date.parse(escalatesAt) && isEither(toUsers);
}
