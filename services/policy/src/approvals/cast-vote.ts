import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { ApprovalVote, GrantTerms } from "@switchyard/contracts/policy/approval-votes";
import { countsAs, countVotes } from "@switchyard/rules/rights/count-votes";
import type { People } from "@switchyard/rules/rights/people";

export type Cast =
  /** The vote counts. */
  | {
      readonly outcome: "counted";
      readonly votes: readonly ApprovalVote[];
      /** The people who count for each requirement. */
      readonly approved: readonly number[];
      readonly isComplete: boolean;
    }
  /** The same person has sent the same before. */
  | { readonly outcome: "repeated" }
  /** The vote adds nothing; `by` has approved as this person, or is null when enough others have. */
  | { readonly outcome: "idle"; readonly by: string | null };

/** Adds a vote to a waiting approval, which the caller has checked may be given. A pure function. */
export function castVote(
  approval: Approval,
  vote: Omit<ApprovalVote, "standsFor">,
  people: People,
): Cast {
  const { requirements, votes } = approval;
  const earlier = votes.find(({ by }) => people.personOf(by) === people.personOf(vote.by));
  if (earlier !== undefined)
    return isSameVote(earlier, vote)
      ? { outcome: "repeated" }
      : { outcome: "idle", by: earlier.by };
  const all = [...votes, { ...vote, standsFor: standsFor(approval, vote, people) }];
  const approved = requirements.map((one) => countVotes(one, approval, { votes: all, people }));
  const isCounted =
    requirements.length === 0 || requirements.some((one, at) => (approved[at] ?? 0) > one.approved);
  if (!isCounted) return { outcome: "idle", by: null };
  const isComplete = requirements.every(({ count }, at) => (approved[at] ?? 0) >= count);
  return { outcome: "counted", votes: all, approved, isComplete };
}

/** True for a repetition of a vote, such as after a lost reply. */
export function isSameVote(
  one: Pick<ApprovalVote, "by" | "scope" | "reason">,
  other: Pick<ApprovalVote, "by" | "scope" | "reason">,
): boolean {
  return one.by === other.by && one.scope === other.scope && one.reason === other.reason;
}

/** The terms of a standing approval that everybody gave: the narrowest of each. Null unless all approved more than this call. */
export function commonTerms(votes: readonly ApprovalVote[]): GrantTerms | null {
  const all = votes.flatMap(({ scope, terms }) => (scope === "session" && terms ? [terms] : []));
  if (all.length === 0 || all.length < votes.length) return null;
  return {
    ttlMs: least(all.map(({ ttlMs }) => ttlMs)),
    maxUses: least(all.map(({ maxUses }) => maxUses)),
    sameArguments: [...new Set(all.flatMap(({ sameArguments }) => sameArguments))],
  };
}

function least(values: readonly (number | null)[]): number | null {
  const given = values.filter((value) => value !== null);
  return given.length === 0 ? null : Math.min(...given);
}

/** The person for whom a deputy votes who is in no list itself. */
function standsFor(
  approval: Approval,
  { by: user, isApprover, at }: Omit<ApprovalVote, "standsFor">,
  people: People,
): string | null {
  const voter = { user, isApprover, atMs: Date.parse(at), people };
  const seats = approval.requirements.flatMap((one) => countsAs(one, approval, voter));
  return seats.includes(people.personOf(user)) ? null : (seats[0] ?? null);
}
