import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { startAudit, type Audit, type AuditOptions } from "@switchyard/audit/start-audit";
import type { ApprovalReporter } from "./approvals/approval-reporter.ts";
import { auditApprovals } from "./approvals/approval-audit.ts";
import { readCipherKeyFile } from "@switchyard/service/keys-directory";
import { StartError } from "@switchyard/service/start-error";
import { createDecisionAudit, type DecisionAudit } from "./audit/decision-audit.ts";
import type { ValueMode } from "./config.ts";
import { createValueKeys } from "./audit/value-keys.ts";
import {
  createDecisionSigner,
  type DecisionSigner,
  type SignText,
} from "./audit/decision-signer.ts";
import { startSeals } from "./audit/seal-chains.ts";

export interface PolicyAudit {
  readonly decisions: DecisionAudit;
  /** The keys of recorded arguments. */
  readonly valueKeys: readonly Uint8Array[];
  /** Null when decisions are not recorded. */
  readonly signer: DecisionSigner | null;
  /** Wraps the reporter in one that records. */
  readonly approvals: (reporter: ApprovalReporter) => ApprovalReporter;
  /** Records that a person of a chat was linked with a caller, or not any more. */
  readonly accessed: (fact: Extract<AuditFact, { kind: "access" }>) => void;
  /** From then on decisions and the ends of chains are signed. */
  readonly signWith: (signText: SignText) => void;
}

interface Kit extends Omit<AuditOptions, "service" | "version"> {
  readonly config: AuditOptions["config"] & {
    readonly YARD_AUDIT_VALUES: ValueMode;
    readonly YARD_KEYS_DIR?: string | undefined;
  };
  readonly onStop: (name: string, stop: () => Promise<void>) => void;
}

const NO_KEY: SignText = () => null;

/** Begins the chain of this policy process. It ends after everything that was started later. */
export async function startPolicyAudit(kit: Kit, version: string): Promise<PolicyAudit> {
  const { redis, log } = kit;
  const valueKeys = await readValueKeys(kit.config);
  const audit: Audit | null = await startAudit({ ...kit, service: "policy", version });
  // Keys are opened later: the tokens that they refuse are recorded.
  let sign: SignText = NO_KEY;
  const signer = createDecisionSigner((text) => sign(text));
  const decisions = createDecisionAudit(audit, {
    mode: kit.config.YARD_AUDIT_VALUES,
    keys: createValueKeys(valueKeys),
    signer,
  });
  if (audit === null)
    return {
      decisions,
      valueKeys,
      signer: null,
      approvals: (reporter) => reporter,
      accessed: () => {},
      signWith: () => {},
    };
  kit.onStop("audit", () => {
    decisions.stop();
    return audit.stop();
  });
  return {
    decisions,
    valueKeys,
    signer,
    approvals: (reporter) => auditApprovals(reporter, audit.writer),
    accessed: (fact) => void audit.writer.append(() => fact),
    signWith(signText) {
      sign = signText;
      const seals = startSeals({
        redis,
        writer: audit.writer,
        signText,
        now: Date.now,
        onTrouble: (err) => log.error({ err }, "audit chains not sealed"),
      });
      kit.onStop("audit seals", () => seals.stop());
    },
  };
}

async function readValueKeys(config: Kit["config"]): Promise<readonly Uint8Array[]> {
  const keys = await readCipherKeyFile(config.YARD_KEYS_DIR, "audit-values.key");
  if (config.YARD_AUDIT_VALUES === "encrypted" && keys.length === 0)
    throw new StartError(
      "YARD_AUDIT_VALUES=encrypted needs a key, and YARD_KEYS_DIR has no audit-values.key",
      { hint: "make it with: yard keys init --dir DIR" },
    );
  return keys;
}
