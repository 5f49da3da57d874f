import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { ServiceError } from "@switchyard/contracts/errors";
import { redriveCommand } from "@switchyard/contracts/agent-runner/runs";
import { auditedId } from "@switchyard/audit/audited-arguments";
import type { Audit } from "@switchyard/audit/start-audit";

type AccessFact = Extract<AuditFact, { kind: "access" }>;

/** A user's request to send a dead command again. */
export interface Redriving {
  readonly caller: string;
  readonly letterId: string;
  readonly correlationId: string;
}

/**
 * Records the request, performs `act` and records its result. Rejects with AuditUnavailableError, without calling `act`, while
 * nothing can be recorded.
 */
export type RecordRedrive = <T>(redriving: Redriving, act: () => Promise<T>) => Promise<T>;

/** Null disables the records. */
export function createRedriveAudit(audit: Audit | null): RecordRedrive {
  if (audit === null) return (_redriving, act) => act();
  const { writer, isStrict } = audit;
  return async ({ caller, letterId, correlationId }, act) => {
    const fact = (more: Pick<AccessFact, "change" | "code">): AccessFact => ({
      kind: "access",
      caller,
      credential: null,
      address: "nats",
      operation: redriveCommand.name,
      about: letterId,
      requestId: auditedId(correlationId).slice(0, 100),
      ...more,
    });
    writer.admit(caller);
    const entry = writer.append(() => fact({ change: "called" }));
    if (isStrict) await writer.stored(entry);
    try {
      const done = await act();
      writer.append(() => fact({ change: "answered" }));
      return done;
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "fault";
      writer.append(() => fact({ change: "answered", code }));
      throw error;
    }
  };
}
