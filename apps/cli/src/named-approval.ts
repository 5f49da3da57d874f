import { ApprovalId } from "@switchyard/contracts/approval-record";
import { CliError } from "./cli-error.ts";

/** The approval that somebody named; what can be no approval's id is the person's mistake. */
export function namedApproval(text: string): string {
  if (ApprovalId.safeParse(text).success) return text;
  throw new CliError("usage", `${JSON.stringify(text)} is not a valid approval id`, {
    hint: "see what waits with: ./yard approvals list",
  });
}
