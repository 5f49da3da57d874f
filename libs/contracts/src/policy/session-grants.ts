import { z } from "zod";
import {
  ApprovalsUnavailable,
  ForbiddenApprover,
  GrantId,
  SessionGrant,
} from "./approval-record.ts";
import { event, rpc } from "../define.ts";
import { CallerName, Timestamp } from "../ids.ts";

export const listGrants = rpc({
  subject: "yard.rpc.{caller}.grants.list",
  summary: "Lists standing approvals that the caller may revoke or profits from.",
  role: "viewer",
  request: z.strictObject({ limit: z.int().min(1).max(500).default(100) }),
  reply: z.object({ grants: z.array(SessionGrant) }),
  errors: { approvals_unavailable: ApprovalsUnavailable },
});

export const revokeGrant = rpc({
  subject: "yard.rpc.{caller}.grants.revoke",
  summary: "Ends a standing approval; later calls need a person again.",
  role: "approver",
  request: z.strictObject({ id: GrantId }),
  reply: z.object({ grant: SessionGrant }),
  errors: {
    unknown_grant: { data: z.object({ id: z.string() }) },
    forbidden_approver: ForbiddenApprover,
    approvals_unavailable: ApprovalsUnavailable,
  },
});

export const grantIssued = event({
  subject: "yard.evt.grant.{owner}.{id}.issued",
  summary: "A person approved more calls of one kind.",
  payload: z.object({ grant: SessionGrant, at: Timestamp }),
});

export const grantRevoked = event({
  subject: "yard.evt.grant.{owner}.{id}.revoked",
  summary: "A standing approval was ended before its time.",
  payload: z.object({ grant: SessionGrant, by: CallerName, reason: z.string(), at: Timestamp }),
});
