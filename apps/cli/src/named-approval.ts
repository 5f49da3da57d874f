import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { ApprovalId } from "@switchyard/contracts/policy/approval-record";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { CliError } from "./cli-error.ts";
import { onlyOne } from "./named-run.ts";
import { beginningOf } from "./shown-name.ts";

const BEGINNING = /^(?:apr-)?[0-9a-f]{3,}$/;

/** Returns a whole approval id; other text is a usage error. */
export function wholeApproval(text: string): string {
  if (ApprovalId.safeParse(text).success) return text;
  throw notValid(text);
}

/** Throws for what cannot be an approval's id, the beginning of one, or `last`. */
export function checkApprovalName(text: string): void {
  const beginning = beginningOf(text) ?? text;
  if (ApprovalId.safeParse(text).success || text === "last" || BEGINNING.test(beginning)) return;
  throw notValid(text);
}

/** Resolves an approval: by its id, by `last`, or by a beginning that only one of the waiting approvals has. */
export async function namedApproval(bus: Bus, text: string): Promise<string> {
  checkApprovalName(text);
  if (ApprovalId.safeParse(text).success) return text;
  const { approvals } = await client(bus, { listApprovals }).listApprovals({ limit: 500 });
  const ids = approvals.map(({ id }) => id);
  const list = "./yard approvals list";
  const beginning = beginningOf(text) ?? text;
  const found =
    text === "last"
      ? (ids[0] ?? null)
      : onlyOne(
          ids.filter((id) => id.startsWith(beginning) || id.startsWith(`apr-${beginning}`)),
          { text, what: "approval", list },
        );
  if (found !== null) return found;
  throw new CliError("unknown_approval", `no waiting approval is ${text}`, {
    hint: `see what waits with: ${list}`,
  });
}

function notValid(text: string): CliError {
  return new CliError("usage", `${JSON.stringify(text)} is not a valid approval id`, {
    hint: "see what waits with: ./yard approvals list",
  });
}
