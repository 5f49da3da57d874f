import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { ServiceError } from "@switchyard/contracts/errors";
import { AuditUnavailableError } from "@switchyard/audit/audit-writer";
import { auditedId } from "@switchyard/audit/audited-arguments";
import type { Audit } from "@switchyard/audit/start-audit";

type AccessFact = Extract<AuditFact, { kind: "access" }>;

/** A user's request that the runner records itself. */
interface AuditedAction {
  readonly caller: string;
  /** The contract's name. */
  readonly operation: string;
  /** The id of the object. */
  readonly about: string;
  readonly correlationId: string;
}

/**
 * Records the request, performs `act` and records its result. Rejects with AuditUnavailableError, without calling `act`, while
 * nothing can be recorded.
 */
export type RecordAction = <T>(action: AuditedAction, act: () => Promise<T>) => Promise<T>;

/** Null disables the records. */
export function createActionAudit(audit: Audit | null): RecordAction {
  if (audit === null) return (_action, act) => act();
  const { writer, isStrict } = audit;
  return async ({ caller, operation, about, correlationId }, act) => {
    const fact = (more: Pick<AccessFact, "change" | "code">): AccessFact => ({
      kind: "access",
      caller,
      credential: null,
      address: "nats",
      operation,
      about,
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

/** Awaits an action; when it was not done because it cannot be recorded, rejects with the contract's error. */
export async function unlessUnrecorded<T>(
  acting: Promise<T>,
  fail: { readonly audit_unavailable: (message: string, data: Record<string, never>) => Error },
): Promise<T> {
  try {
    return await acting;
  } catch (error) {
    if (!(error instanceof AuditUnavailableError)) throw error;
    const message = `it cannot be recorded now, so it is not done: ${error.message}`;
    throw fail.audit_unavailable(message, {});
  }
}
