import type { CallContext } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import {
  admitCall as admitContract,
  settleCall,
} from "@switchyard/contracts/policy/approval-admission";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { CallContext as RunPart } from "@switchyard/contracts/agent-runner/call-context";
import {
  approvalStates,
  approveCall,
  cancelApproval,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { missingApprovals } from "@switchyard/contracts/policy/approval-words";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { Finding } from "@switchyard/contracts/policy/findings";
import { fullRunId } from "@switchyard/contracts/ids";
import { failuresOf } from "@switchyard/contracts/errors";
import { storeFailureAs } from "@switchyard/service/store-error";
import type { ApproveTerms } from "@switchyard/rules/engine/approve-terms";
import type { CallOutcome } from "@switchyard/rules/engine/plan-windows";
import type { DecisionAudit } from "../audit/decision-audit.ts";
import type { DecisionSigner } from "../audit/decision-signer.ts";
import { STOPS_UNKNOWN, stopInForce, stopReason, type StopList } from "../stops/stop-list.ts";
import type { z } from "zod";
import type { Identify } from "../tokens/identify.ts";
import {
  admitCall,
  askedCall,
  follow,
  refusal,
  type Admission,
  type AdmitDeps,
  type AskedCall,
} from "./admit-call.ts";
import { atTime, type StoredApproval, type StoredEdit } from "./approval-store.ts";
import {
  decidesAll,
  isApprover,
  maySee,
  refusedBy,
  settingsFor,
  type ApproverSettings,
} from "./approver.ts";
import { badPointer } from "./argument-constraint.ts";
import type { UnmaskFor } from "./unmask-arguments.ts";
import { editOf, editRefusal, masksNotShown, notEditable } from "./edit-call.ts";
import { presentArguments } from "./present-arguments.ts";
import {
  endApproval,
  voidApproval,
  voteFor,
  type IdleVote,
  type Verdict,
  type Verdicts,
} from "./decide-approval.ts";
import { listPage } from "./list-approvals.ts";

export interface ApprovalHandlerDeps extends AdmitDeps {
  readonly settings: ApproverSettings;
  readonly identify: Identify;
  readonly stops: Pick<StopList, "find" | "isCurrent">;
  /** Undoes the count of the preceding decision request as a call. */
  readonly uncount: (call: Pick<AskedCall, "principal" | "tool"> & CallArguments) => Promise<void>;
  /** Records the outcome of a call for the rules about earlier calls; once more under the same id changes nothing. */
  readonly recordOutcome: (
    call: Pick<AskedCall, "principal" | "tool">,
    outcome: CallOutcome,
    id: string,
  ) => Promise<void>;
  /** Returns the digest of the bundle in force. */
  readonly policyDigest: () => string;
  /** Returns who has to approve a call, by the rules that the decision names and those that match here. */
  readonly termsOf: (
    call: Pick<AskedCall, "principal" | "tool"> &
      CallArguments & { readonly approveRules: readonly string[] },
  ) => ApproveTerms;
  /** Returns how the rules in force decide about a call; it counts nothing. */
  readonly decisionOn: (
    call: Pick<AskedCall, "principal" | "tool"> & CallArguments,
  ) => Promise<Decision>;
  /** Reads the run around a call; null when there is no run, or it cannot be read now. */
  readonly contextOf: (call: Pick<Approval, "principal" | "callId">) => Promise<RunPart | null>;
  /** Returns the values behind masks that the caller is shown. */
  readonly unmask: UnmaskFor;
  /** Returns the kinds of masked values that approvers of the call are shown. */
  readonly kindsFor: (approval: Approval) => readonly Finding[];
  /** Throws the failure while decisions of people cannot be recorded. */
  readonly recordable: DecisionAudit["admit"];
  readonly signer: DecisionSigner | null;
}

interface CallArguments {
  readonly args: Readonly<Record<string, unknown>>;
}

type Who = Pick<CallContext, "caller" | "roles"> & {
  /** The channel of a chat that the caller has linked. */
  readonly via?: string;
};

const fail = failuresOf({ ...approveCall.errors, ...admitContract.errors });

export function handleApprovals(service: Service, deps: ApprovalHandlerDeps): void {
  handleProviders(service, deps);
  handleReaders(service, deps);
  handleDecisions(service, deps);
}

/** Records the decision of a person for the rules about denied and approved calls. A call whose approval is not recorded does not pass. */
async function recordAdmission(
  { recordOutcome }: ApprovalHandlerDeps,
  call: AskedCall,
  admission: Admission,
): Promise<void> {
  const { outcome, approvalId } = admission;
  if (isEdited(admission)) return;
  const isDenied = outcome === "refused" && admission.state === "denied";
  if (outcome !== "passed" && !isDenied) return;
  const id = approvalId ?? call.binding;
  await orUnavailable(() => recordOutcome(call, isDenied ? "denied" : "approved", id));
}

/** True when the call is to be made with other arguments, which is decided about next. */
function isEdited(admission: Admission): boolean {
  return admission.outcome === "refused" && admission.edited !== undefined;
}

/** Handles the requests of tool providers. */
function handleProviders(service: Service, deps: ApprovalHandlerDeps): void {
  service.handle(admitContract, async (request, context) => {
    deps.recordable(fail.approvals_unavailable);
    const { principal } = await deps.identify(request, {
      provider: context.caller,
      invalidToken: context.fail.invalid_token,
    });
    // Between the question and this one an administrator may have stopped such calls.
    if (!(await deps.stops.isCurrent()))
      throw fail.approvals_unavailable(STOPS_UNKNOWN, { cause: "StoreError" });
    const stop = deps.stops.find({ principal, tool: request.tool });
    if (stop !== null)
      return { ...refusal(null, "cancelled", stopReason(stop)), stop: stopInForce(stop) };
    const { tier, policyDigest, effect } = request.decision;
    const inForce = deps.policyDigest();
    const isAsked = effect === "ask" && tier !== undefined && tier !== "auto";
    // About changed arguments the rules may have nothing to ask; the approval is used for them all the same.
    const isAboutEdit = request.editOf !== undefined && effect !== "deny";
    if ((!isAsked && !isAboutEdit) || policyDigest !== inForce)
      throw fail.policy_changed(
        `The decision is not a question of the policy in force (${inForce}); ask for a decision again.`,
        { policyDigest: inForce },
      );
    const { tool, args } = request;
    const { approveRules = [] } = request.decision;
    const terms = deps.termsOf({ principal, tool, args, approveRules });
    const asked = isAsked ? tier : "always";
    const call = askedCall(request, { principal, provider: context.caller, tier: asked, terms });
    if (call.binding !== request.binding)
      throw fail.binding_mismatch(
        "The provider's digest of the call is not the policy's: they do not mean the same call.",
        { expected: call.binding },
      );
    const admission = await orUnavailable(() => admitCall(deps, call));
    if (admission.outcome === "waiting" || isEdited(admission))
      await deps.uncount({ ...call, args: request.args });
    await recordAdmission(deps, call, admission);
    if (admission.outcome !== "passed" || deps.signer === null) return admission;
    const { approvalId, grantId } = admission;
    const signed = await deps.signer.admission({
      at: deps.now(),
      provider: context.caller,
      caller: request.onBehalfOf,
      approvalId,
      grantId,
      argsDigest: canonicalDigest(request.args),
      policyDigest,
    });
    return signed === null ? admission : { ...admission, signed };
  });

  service.handle(settleCall, async ({ approvalId, attempt, outcome, resultDigest }) => {
    const end = { attempt, outcome, resultDigest, now: deps.now() };
    const transition = await orUnavailable(() => deps.store.settle(approvalId, end));
    if (transition === null) return { settled: false };
    await orUnavailable(() => follow(deps, transition));
    if (transition.change === "done") deps.report.settled(transition.approval, outcome);
    return { settled: transition.change === "done" };
  });
}

function handleReaders(service: Service, deps: ApprovalHandlerDeps): void {
  const { store, index, now } = deps;
  service.handle(listApprovals, ({ pendingOnly, runId, limit, cursor }, context) =>
    orUnavailable(async () => {
      const { caller } = context;
      const settings = settingsFor(deps.settings, context);
      const fits = (approval: Approval): boolean =>
        maySee(settings, caller, approval) &&
        (runId === undefined || isRun(approval, { runId, caller })) &&
        (!pendingOnly || approval.state === "pending");
      const which = pendingOnly ? "pending" : "all";
      const page = await listPage(deps, { which, limit, cursor: cursor ?? null, fits });
      const isForAll = decidesAll(settings, caller);
      const pending = isForAll
        ? await index.pendingCount()
        : page.approvals.filter(isPending).length;
      return { ...page, pending, decidesAll: isForAll };
    }),
  );

  service.handle(getApproval, async ({ id }, context) => {
    const { approval, presentation, editedArgs } = await find(deps, id, context);
    const around = await deps.contextOf(approval);
    const current = atTime(approval, now());
    const unmasked = await deps.unmask(current, presentation, context);
    const shown = unmasked.length === 0 ? {} : { unmasked };
    const edited =
      editedArgs === null ? {} : { edited: presentArguments(editedArgs, null).presentation };
    return { approval: current, presentation, ...shown, ...edited, context: around };
  });

  service.handle(approvalStates, async ({ ids }, context) => {
    const { caller } = context;
    const settings = settingsFor(deps.settings, context);
    const found = await orUnavailable(() => store.readMany(ids));
    const maySeeIt = ({ approval }: StoredApproval): boolean =>
      caller === RUNNER || maySee(settings, caller, approval);
    const known = found.filter((stored) => stored !== null).filter(maySeeIt);
    return {
      approvals: known.map(({ approval }) => {
        const { id, state, expiresAt, votes } = atTime(approval, now());
        const hasVoted = votes.some(({ by }) => by === caller);
        const isOpen = state === "pending" && !hasVoted;
        const mayDecide = isOpen && refusedBy(settings, caller, approval) === null;
        return { id, state, expiresAt, mayDecide };
      }),
    };
  });
}

/** It waits for its runs' approvals. */
const RUNNER = "runner";

function isPending({ state }: Approval): boolean {
  return state === "pending";
}

/** A caller may leave its own name out of a run's id. */
function isRun(
  { principal }: Approval,
  { runId, caller }: { readonly runId: string; readonly caller: string },
): boolean {
  return principal.runId === runId || principal.runId === fullRunId(caller, runId);
}

/** Approves as the caller, for a request of its own or for a button in a chat that it has linked. */
export async function approve(
  deps: ApprovalHandlerDeps,
  request: z.output<typeof approveCall.request>,
  who: Who,
) {
  const { id, scope, reason, ttlSeconds, maxUses, sameArguments = [], arguments: args } = request;
  const stored = await findToDecide(deps, request, who);
  const { approval, comparable } = stored;
  requireReason(approval, "approvals", reason ?? null);
  if (scope === "session" && approval.tier === "always")
    throw fail.once_only(`Approval ${id} is of the tier always: each call needs its own.`, {
      id,
    });
  const pointer = scope === "session" ? badPointer(comparable, sameArguments) : null;
  if (pointer !== null)
    throw fail.bad_pointer(
      `${pointer} is not the JSON pointer of an argument of this call that can be compared.`,
      { pointer },
    );
  const terms =
    scope === "once"
      ? null
      : {
          ttlMs: ttlSeconds === undefined ? null : ttlSeconds * 1_000,
          maxUses: maxUses ?? null,
          sameArguments,
        };
  const edit =
    args === undefined
      ? null
      : await checkedEdit(deps, stored, { args, scope, who, reason: reason ?? null });
  const settings = settingsFor(deps.settings, who);
  deps.recordable(fail.approvals_unavailable);
  const result = await orUnavailable(() =>
    voteFor(deps, stored, {
      ...decidedBy(who),
      reason: reason ?? null,
      terms,
      edit,
      isApprover: isApprover(settings, who.caller, approval),
      people: settings.people(),
    }),
  );
  if (result !== null && "idleBeside" in result) throw alreadyVoted(result, who.caller);
  return replyOf(result, id, who);
}

/** Throws unless the rules let the call pass with these arguments by one person's approval. Null when they are those of the request. */
async function checkedEdit(
  deps: ApprovalHandlerDeps,
  { approval, presentation }: StoredApproval,
  {
    args,
    scope,
    who,
    reason,
  }: {
    args: Record<string, unknown>;
    scope: "once" | "session";
    who: Who;
    reason: string | null;
  },
): Promise<StoredEdit | null> {
  const { id, principal, tool, state } = approval;
  if (state !== "pending")
    return editOf(approval, args, { by: who.caller, at: approval.requestedAt });
  const known = { shown: presentation.args, kinds: deps.kindsFor(approval) };
  const why = notEditable(approval, args, scope) ?? masksNotShown(args, known);
  if (why !== null)
    throw fail.not_editable(`The arguments of ${id} cannot be changed: ${why}.`, {
      id,
      reason: why,
    });
  const decision = await orUnavailable(() => deps.decisionOn({ principal, tool, args }));
  const { approveRules = [] } = decision;
  const terms = deps.termsOf({ principal, tool, args, approveRules });
  const refused = editRefusal(approval, { decision, terms, hasReason: reason !== null });
  if (refused !== null)
    throw fail.edit_refused(
      `${id} cannot be approved with these arguments; nothing was decided: ${refused.reason}.`,
      { id, ...refused },
    );
  return editOf(approval, args, { by: who.caller, at: new Date(deps.now()).toISOString() });
}

/** Denies as the caller, see {@link approve}. */
export async function deny(
  deps: ApprovalHandlerDeps,
  { reason: given, ...shown }: z.output<typeof denyCall.request>,
  who: Who,
) {
  const reason = given ?? null;
  const stored = await findToDecide(deps, shown, who);
  requireReason(stored.approval, "denials", reason);
  return endByPerson(deps, stored, { state: "denied", reason, ...decidedBy(who) });
}

function handleDecisions(service: Service, deps: ApprovalHandlerDeps): void {
  service.handle(approveCall, (request, context) => approve(deps, request, context));

  service.handle(denyCall, (request, context) => deny(deps, request, context));

  service.handle(cancelApproval, async ({ id, reason = null }, context) => {
    // The requester may withdraw too, which needs no permission.
    const stored = await find(deps, id, context);
    return endByPerson(deps, stored, { state: "cancelled", reason, ...decidedBy(context) });
  });
}

function decidedBy({ caller, roles, via }: Who) {
  const through = via === undefined ? {} : { via };
  return { by: caller, isOverHttp: roles.length > 0, ...through };
}

async function endByPerson(
  deps: ApprovalHandlerDeps,
  stored: StoredApproval,
  verdict: Verdict & { readonly state: "denied" | "cancelled" },
) {
  deps.recordable(fail.approvals_unavailable);
  const result = await orUnavailable(() => endApproval(deps, stored, verdict));
  return replyOf(result, stored.approval.id, { caller: verdict.by });
}

function replyOf(result: Verdicts | null, id: string, { caller }: Pick<Who, "caller">) {
  if (result === null) throw unknown(id, caller);
  if (!result.isMine) throw ended(result.approval);
  return { approval: result.approval, grant: result.grant };
}

function requireReason(
  { id, state, reasonFor }: Approval,
  kind: Approval["reasonFor"][number],
  reason: string | null,
): void {
  if (state !== "pending" || reason !== null || !reasonFor.includes(kind)) return;
  throw fail.reason_required(
    `The rules require a reason for ${kind} of ${id}; nothing was decided: send it again with a reason.`,
    { id },
  );
}

function alreadyVoted({ idleBeside, approval }: IdleVote, caller: string) {
  const { id } = approval;
  const missing = missingApprovals(approval).join("; ");
  const isMe = idleBeside === caller;
  const why =
    idleBeside === null
      ? `${caller} counts as none of the people who are missing`
      : `${isMe ? caller : `${caller}, the same person as ${idleBeside},`} has approved it already`;
  const by = idleBeside ?? caller;
  return fail.already_voted(`${why}. ${id} still needs: ${missing}.`, { id, by });
}

async function find(deps: ApprovalHandlerDeps, id: string, who: Who): Promise<StoredApproval> {
  const { caller } = who;
  const stored = await orUnavailable(() => deps.store.read(id));
  if (stored === null || !maySee(settingsFor(deps.settings, who), caller, stored.approval))
    throw unknown(id, caller);
  return stored;
}

const REFUSALS: Readonly<Record<NonNullable<ReturnType<typeof refusedBy>>, string>> = {
  YARD_APPROVERS: ": YARD_APPROVERS of the policy service lists who may.",
  YARD_APPROVE_OWN:
    ", which is its own call: another approver has to, as YARD_APPROVE_OWN of the policy service says.",
  "approve-own": ", which it dictated: rights of the policy gives it no approve-own.",
  approvers: ": approvers of the policy names it for other calls.",
  from: ": approve.from of the rules names others.",
  notRequester: ", which is its own request: the rules want other people (notRequester).",
};

/** Finds an approval to decide about. One that was requested under other rules is ended instead. */
export async function findToDecide(
  deps: ApprovalHandlerDeps,
  { id, binding: shown }: { readonly id: string; readonly binding?: string | undefined },
  who: Who,
): Promise<StoredApproval> {
  const { caller } = who;
  const stored = await find(deps, id, who);
  const setting = refusedBy(settingsFor(deps.settings, who), caller, stored.approval);
  if (setting !== null)
    throw fail.forbidden_approver(`${caller} may not decide about ${id}${REFUSALS[setting]}`, {
      caller,
      setting,
    });
  const { state, policyDigest, binding } = stored.approval;
  if (shown !== undefined && shown !== binding)
    throw fail.binding_mismatch(
      `${id} is about another call than the one that was shown; nothing was decided: read it again`,
      { expected: binding },
    );
  if (state !== "pending" || policyDigest === deps.policyDigest()) return stored;
  const ofOtherRules = await orUnavailable(() => voidApproval(deps, stored));
  throw ended(ofOtherRules ?? stored.approval);
}

function unknown(id: string, caller: string) {
  return fail.unknown_approval(`There is no approval ${id} for ${caller}.`, { id });
}

function ended({ id, state, decision }: Approval) {
  const by = decision === null ? "" : ` by ${decision.by}`;
  return fail.already_ended(`Approval ${id} is ${state}${by} already.`, { id, state });
}

export const orUnavailable = storeFailureAs(({ message: cause }) =>
  fail.approvals_unavailable(`Approvals cannot be read now: ${cause}; try again later.`, { cause }),
);
