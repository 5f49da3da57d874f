/** Approvals and grants in words, for every face that shows them. The file imports nothing, so that a browser can load it. */

interface Requirement {
  readonly from: readonly string[] | null;
  readonly count: number;
  readonly approved: number;
  readonly notRequester: boolean;
  readonly escalatesAt: string | null;
  readonly to: readonly string[];
}

interface Voting {
  readonly requirements: readonly Requirement[];
  readonly votes: readonly unknown[];
  readonly needed: number;
}

interface Grant {
  readonly usesLeft: number;
  readonly tool: { readonly server: string | null; readonly tool: string };
  readonly principal: { readonly agent: string | null; readonly user: string };
  readonly sameArguments: readonly string[];
}

/** Such as `1 of 2`: how many of the needed approvals there are. */
export function votesText({ requirements, votes, needed }: Voting): string {
  const approved = requirements.reduce((sum, requirement) => sum + requirement.approved, 0);
  return `${requirements.length === 0 ? Math.min(votes.length, needed) : approved} of ${needed}`;
}

/** One line for each requirement that is not met: `1 more of group:security, after 2026-12-01T10:00:00.000Z also boss`. */
export function missingApprovals({ requirements }: Pick<Voting, "requirements">): string[] {
  return requirements.flatMap(({ from, count, approved, notRequester, escalatesAt, to }) => {
    if (approved >= count) return [];
    const whom = from === null ? "those who may approve" : from.join(" or ");
    const others = escalatesAt === null ? "" : `, from ${escalatesAt} on also ${to.join(" or ")}`;
    const except = notRequester ? ", and not the requester" : "";
    return [`${count - approved} more of ${whom}${others}${except}`];
  });
}

/**
 * Returns what a standing approval covers, such as `until 15:30, for 12 more calls of files.edit_file by agent payments`. `until` is
 * its end in the words of the face that shows it.
 */
export function grantWords(grant: Grant, until: string): string {
  const { usesLeft, tool, principal, sameArguments } = grant;
  const { agent, user } = principal;
  const calls = `${usesLeft} more ${usesLeft === 1 ? "call" : "calls"}`;
  const name = tool.server === null ? tool.tool : `${tool.server}.${tool.tool}`;
  const by = agent === null ? `user ${user}` : `agent ${agent}`;
  const same = sameArguments.length === 0 ? "" : ` with the same ${sameArguments.join(" and ")}`;
  return `until ${until}, for ${calls} of ${name} by ${by}${same}`;
}
