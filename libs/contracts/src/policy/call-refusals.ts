import { z } from "zod";
import { ApprovalRequired } from "./approval-record.ts";
import { Decision } from "./policy.ts";
import { StopScope } from "./policy-budgets.ts";

export const InvalidToken = { data: z.object({ reason: z.string() }) };

/** The errors that the policy, a person or an administrator causes in a call of any tool. */
export const CALL_REFUSALS = {
  denied: { data: Decision },
  /** The policy requires a person's approval; nothing was done. Once it is approved, send the same call again. */
  approval_required: { data: ApprovalRequired },
  /** An administrator stopped such calls while it was in progress: it may have had its effect. */
  stopped: { data: z.object({ scope: StopScope }) },
  invalid_token: InvalidToken,
} as const;
