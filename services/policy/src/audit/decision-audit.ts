import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { DecisionSignature } from "@switchyard/contracts/policy/audit-signatures";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { ServiceError } from "@switchyard/contracts/errors";
import type { checkPolicy } from "@switchyard/contracts/policy/policy";
import {
  auditedArguments,
  auditedId,
  auditedValues,
  readLater,
} from "@switchyard/audit/audited-arguments";
import { AuditUnavailableError, type AuditEntry } from "@switchyard/audit/audit-writer";
import type { Audit } from "@switchyard/audit/start-audit";
import type { RecordedValues } from "@switchyard/contracts/policy/recorded-values";
import type { SignedDecision } from "@switchyard/contracts/policy/signed-texts";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { z } from "zod";
import type { ValueMode } from "../config.ts";
import type { Judged } from "../calls/judge-call.ts";
import type { ToolLayers } from "@switchyard/rules/layers/tool-layers";
import type { DecisionSigner } from "./decision-signer.ts";
import { recordValues } from "./record-values.ts";
import { createRepeatedDenials } from "./repeated-denials.ts";
import { sealContext, type ValueKeys } from "./value-keys.ts";
import type { Identity, RefusedToken } from "../tokens/identify.ts";

/** A decision with all inputs that led to it. */
export interface MadeDecision {
  readonly request: z.output<typeof checkPolicy.request>;
  readonly provider: string;
  readonly correlationId: string;
  readonly who: Identity;
  readonly judged: Judged;
  /** The time for which the provider may cache it, in milliseconds; null when it may not. */
  readonly forMs: number | null;
}

/** A recorded decision. */
export interface RecordedDecision {
  readonly entry: AuditEntry;
  /** The signature of a decision that is no denial; null also when no key may sign. */
  readonly signed: Promise<DecisionSignature | null>;
}

type Refusal = (message: string, data: { cause: string }) => ServiceError;

/** Records the decisions of the policy. Without an audit it does nothing, and every record is null. */
export interface DecisionAudit {
  /** Throws the refusal while recording is impossible; with `user`, also when that user's quota of records is used up. */
  readonly admit: (refusal: Refusal, user?: string) => void;
  decided(made: MadeDecision): RecordedDecision | null;
  readonly refused: (refused: RefusedToken) => void;
  /** Writes the pending counts of facts that were not recorded one by one. */
  readonly stop: () => void;
  /** With the setting `strict`: resolves when the record is stored, or rejects with the refusal. */
  stored(recorded: RecordedDecision | null, refusal: Refusal): Promise<void>;
}

/** Longer patterns of a token are not recorded; such a decision cannot be replayed. */
const MAX_LAYER_CHARS = 4_096;

export function createDecisionAudit(
  audit: Audit | null,
  options: {
    readonly mode: ValueMode;
    readonly keys: ValueKeys;
    readonly signer: DecisionSigner;
  },
): DecisionAudit {
  if (audit === null)
    return {
      admit: () => {},
      decided: () => null,
      refused: () => {},
      stop: () => {},
      stored: async () => {},
    };
  const { writer, isStrict } = audit;
  const denials = createRepeatedDenials({ writer, now: Date.now });
  return {
    stop: () => denials.stop(),
    admit(refusal, user) {
      try {
        writer.admit(user);
      } catch (error) {
        throw refused(error, refusal);
      }
    },
    decided(made) {
      const { args } = made.request;
      const { decision } = made.judged;
      const isSigned = decision.effect !== "deny";
      // A decision that holds for any arguments is signed without them.
      const digest = isSigned && made.forMs === null ? canonicalDigest(args) : undefined;
      const known = readLater(args, (later) => auditedArguments(later, digest));
      const clear = options.mode === "clear" ? auditedValues(args) : {};
      const fact = (): AuditFact => {
        const names = known();
        const about = { owner: made.who.principal.user, argsDigest: names.argsDigest };
        // Clear values that are whole need no digests.
        const isWhole = clear.args !== undefined && clear.isArgsChanged !== true;
        const values = isWhole ? {} : valuesOf(args, about, options);
        return { ...factOf(made), ...names, ...clear, ...values };
      };
      if (isSigned) {
        const entry = writer.append(fact);
        const about = signedDecision(made, { record: entry.ref, argsDigest: digest ?? null });
        return { entry, signed: options.signer.decision(about) };
      }
      const { user } = made.who.principal;
      const common = {
        provider: made.provider,
        user,
        tool: made.request.tool,
        rule: decision.rule,
      };
      const entry = denials.record({ what: "decision", ...common }, fact, () => known().argsDigest);
      return { entry, signed: NOT_SIGNED };
    },
    refused({ provider, caller, reason, about }) {
      const known = (): { tool?: ToolRef; argsDigest?: string } =>
        about === undefined
          ? {}
          : { tool: about.tool, argsDigest: auditedArguments(about.args).argsDigest };
      const fact = (): AuditFact => ({ kind: "refusal", provider, caller, reason, ...known() });
      const common = { provider, user: caller, reason, ...(about && { tool: about.tool }) };
      denials.record({ what: "refusal", ...common }, fact, () => known().argsDigest);
    },
    async stored(recorded, refusal) {
      if (recorded === null || !isStrict) return;
      try {
        await writer.stored(recorded.entry);
      } catch (error) {
        throw refused(error, refusal);
      }
    },
  };
}

/** Returns the digests of the arguments, and with the setting the arguments themselves, encrypted; nothing without a key. */
function valuesOf(
  args: Readonly<Record<string, unknown>>,
  { owner, argsDigest }: { readonly owner: string; readonly argsDigest: string },
  { mode, keys: { newest, cipher } }: { readonly mode: ValueMode; readonly keys: ValueKeys },
): { values?: RecordedValues } {
  if (newest === null) return {};
  const values = recordValues(args, newest, owner);
  if (mode !== "encrypted" || cipher === null) return { values };
  const whole = auditedValues(args);
  if (whole.args === undefined || whole.isArgsChanged === true) return { values };
  const sealed = cipher.seal(JSON.stringify(whole.args), sealContext(owner, argsDigest));
  return { values: { ...values, sealed } };
}

const NOT_SIGNED = Promise.resolve(null);

function signedDecision(
  { request, provider, who, judged, forMs }: MadeDecision,
  { record, argsDigest }: Pick<SignedDecision, "record" | "argsDigest">,
): SignedDecision {
  const { onBehalfOf: caller, kind: access, tool, pin = null } = request;
  const { effect, rule, policyDigest } = judged.decision;
  const { principal } = who;
  const common = { record, provider, caller, principal, access, tool, pin, argsDigest };
  return { ...common, at: Date.now(), effect, rule, policyDigest, keptForMs: forMs };
}

type DecisionFact = Extract<AuditFact, { kind: "decision" }>;

function factOf(made: MadeDecision): Omit<DecisionFact, "argsDigest" | "argKeys"> {
  const { request, provider, correlationId, who, judged, forMs } = made;
  const { onBehalfOf: caller, kind: access, tool, pin, server } = request;
  const { decision, byRules } = judged;
  return {
    kind: "decision",
    provider,
    caller,
    principal: who.principal,
    access,
    tool,
    ...(pin === undefined ? {} : { pin }),
    ...(server === undefined ? {} : { server }),
    ...(who.layers === null ? {} : { layers: layersOf(who.layers) }),
    decision,
    ...(byRules === decision.effect ? {} : { byRules }),
    ...(forMs === null ? {} : { keptForMs: forMs }),
    correlationId: auditedId(correlationId),
  };
}

/** The layers of each token, cached because a token is used for many calls. */
const auditedLayers = new WeakMap<ToolLayers, string[][] | null>();

function layersOf(layers: ToolLayers): string[][] | null {
  const known = auditedLayers.get(layers);
  if (known !== undefined) return known;
  const texts = layers.map((layer) => [...layer.texts]);
  const audited = JSON.stringify(texts).length > MAX_LAYER_CHARS ? null : texts;
  auditedLayers.set(layers, audited);
  return audited;
}

function refused(error: unknown, refusal: Refusal): unknown {
  if (!(error instanceof AuditUnavailableError)) return error;
  return refusal(`The decision cannot be recorded now, so none is made: ${error.message}.`, {
    cause: error.message,
  });
}
