import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { cutText } from "@switchyard/contracts/cut-text";
import { AuditUnavailableError } from "@switchyard/audit/audit-writer";
import type { Audit } from "@switchyard/audit/start-audit";
import type { Context } from "hono";
import { Problem } from "../problems/problem.ts";
import type { GatewayEnv } from "./request-context.ts";

type AccessFact = Extract<AuditFact, { kind: "access" }>;
/** The caller that a record is about; null when the credential did not identify one. */
type Who = { readonly caller: string; readonly credential: string } | null;

/** Records the requests over HTTP that are audited: sign-ins, refusals, and calls that only an admin may make. */
export interface AccessAudit {
  /** Rejects with a Problem while records cannot be written: then the sign-in fails. */
  signedIn(c: Context<GatewayEnv>, who: Who, operation: string): Promise<void>;
  signedOut(c: Context<GatewayEnv>, who: Who): Promise<void>;
  /** Never rejects: the request is refused, whether or not that can be recorded. */
  refused(c: Context<GatewayEnv>, who: Who, about: Refusal): void;
  /**
   * Makes a call that only an admin may make, between two records. Rejects with a Problem, without making the call, while
   * records cannot be written.
   */
  administered<T>(
    c: Context<GatewayEnv>,
    who: Who,
    about: { readonly operation: string; readonly isRead: boolean },
    act: () => Promise<T>,
  ): Promise<T>;
}

interface Refusal {
  readonly operation: string;
  readonly status: number;
  readonly code: string;
}

/** Records that are about no caller are counted under this name. */
const NOBODY = "nobody";

export function createAccessAudit(
  audit: Audit | null,
  {
    addressOf,
    outcomeOf,
  }: {
    readonly addressOf: (c: Context<GatewayEnv>) => string;
    /** The status and code with which an error is answered. */
    readonly outcomeOf: (error: unknown) => { readonly status: number; readonly code: string };
  },
): AccessAudit {
  type Facts = Pick<AccessFact, "change" | "operation"> & Partial<AccessFact>;
  const append = (c: Context<GatewayEnv>, who: Who, facts: Facts) => {
    const fact: AccessFact = {
      kind: "access",
      caller: who?.caller ?? null,
      credential: who === null ? null : cutText(who.credential, 200),
      address: addressOf(c).slice(0, 64),
      requestId: c.get("requestId"),
      ...facts,
    };
    return audit?.writer.append(() => fact) ?? null;
  };
  /** A record is written before its operation takes effect. */
  const record = async (c: Context<GatewayEnv>, who: Who, facts: Facts): Promise<void> => {
    if (audit === null) return;
    try {
      audit.writer.admit(who?.caller ?? NOBODY);
      const entry = append(c, who, facts);
      if (audit.isStrict && entry !== null) await audit.writer.stored(entry);
    } catch (error) {
      if (!(error instanceof AuditUnavailableError)) throw error;
      const detail = `it cannot be recorded now, so it is not done: ${error.message}`;
      throw new Problem({ status: 503, code: "audit_unavailable", detail });
    }
  };
  return {
    signedIn: (c, who, operation) => record(c, who, { change: "signed_in", operation }),
    signedOut: (c, who) => record(c, who, { change: "signed_out", operation: "POST /auth/logout" }),
    refused(c, who, about) {
      try {
        audit?.writer.admit(who?.caller ?? NOBODY);
      } catch (error) {
        if (error instanceof AuditUnavailableError) return;
        throw error;
      }
      append(c, who, { change: "refused", ...about });
    },
    async administered(c, who, { operation: name, isRead }, act) {
      const operation = { operation: name, ...(isRead && { isRead }) };
      await record(c, who, { change: "called", ...operation });
      try {
        const done = await act();
        append(c, who, { change: "answered", ...operation });
        return done;
      } catch (error) {
        const { status, code } = outcomeOf(error);
        append(c, who, { change: "answered", ...operation, status, code });
        throw error;
      }
    },
  };
}
