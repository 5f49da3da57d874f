import {
  Approval,
  ApprovalEdit,
  Presentation,
  type ApprovalDecision,
  type ApprovalState,
} from "@switchyard/contracts/policy/approval-record";
import { ApprovalVote } from "@switchyard/contracts/policy/approval-votes";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import {
  CONSUME,
  CREATE,
  DECIDE,
  ESCALATE,
  EXPIRE,
  KEPT_AFTER_END_MS,
  SETTLE,
  VOID,
  VOTE,
} from "./approval-scripts.ts";

/**
 * Approvals in Redis, one hash each, so that each transition is one compare-and-set in one slot.
 * Times are the caller's, in milliseconds since the Unix epoch; `now == expiresAt` is over.
 */
export interface ApprovalStore {
  /**
   * Writes the approval unless there is one of this id that is not void, and returns the stored one. A new one is counted for its
   * user; rejects with `storage_full` when that user stores too much.
   */
  create(
    stored: NewApproval,
  ): Promise<{ readonly isNew: boolean; readonly stored: StoredApproval }>;
  read(id: string): Promise<StoredApproval | null>;
  readMany(ids: readonly string[]): Promise<(StoredApproval | null)[]>;
  /** From `pending`; an approval gets a new end, by which it has to be consumed. */
  decide(
    id: string,
    to: {
      readonly state: Extract<ApprovalState, "approved" | "denied" | "cancelled">;
      readonly decision: ApprovalDecision;
      readonly consumeByMs: number | null;
      readonly now: number;
    },
  ): Promise<Transition | null>;
  /** Adds a vote while the approval is `pending` and has the votes of `revision`; the last one that is needed approves it. */
  vote(
    id: string,
    cast: {
      readonly revision: string;
      readonly votes: readonly ApprovalVote[];
      readonly approved: readonly number[];
      /** Set by the last one. */
      readonly approval: {
        readonly decision: ApprovalDecision;
        readonly consumeByMs: number;
        /** The arguments that this person put in the place of the requested ones. */
        readonly edit?: StoredEdit | null;
      } | null;
      readonly now: number;
    },
  ): Promise<Transition | null>;
  /** Records that other people were added, unless another process has; `published` is the number of earlier times. */
  escalate(
    id: string,
    at: { readonly published: number; readonly now: number },
  ): Promise<Transition | null>;
  /** Moves from `pending` or `approved` to cancelled and void, so that approval of the same call may be requested again. */
  void(
    id: string,
    by: { readonly decision: ApprovalDecision; readonly now: number },
  ): Promise<Transition | null>;
  /** From `pending` or `approved`, when its time is over. */
  expire(id: string, now: number): Promise<Transition | null>;
  /** From `approved`, for one attempt. */
  consume(
    id: string,
    by: { readonly attempt: string; readonly now: number },
  ): Promise<Transition | null>;
  /** Only the attempt that consumed it may settle it: as executed, or back to `approved` because the call was not sent. */
  settle(
    id: string,
    end: {
      readonly attempt: string;
      readonly outcome: "executed" | "not_sent";
      readonly resultDigest: string | undefined;
      readonly now: number;
    },
  ): Promise<Transition | null>;
}

export interface StoredApproval {
  readonly approval: Approval;
  readonly presentation: Presentation;
  /** The arguments without secrets, for comparison with others; null when they are too long to store. */
  readonly comparable: string | null;
  /** The changed arguments; null when the call has its own. */
  readonly editedArgs: Readonly<Record<string, unknown>> | null;
  /** True when it belonged to other rules, or its call was stopped: it is cancelled without a decision against the call. */
  readonly isVoid: boolean;
  /** Changes with each vote. */
  readonly revision: string;
  /** The number of times at which other people were added. */
  readonly escalations: number;
}

/** The changed arguments with the facts about the change. They are stored for the one call that is made with them. */
const StoredEdit = z.object({ edit: ApprovalEdit, args: z.record(z.string(), z.unknown()) });
export type StoredEdit = z.infer<typeof StoredEdit>;

export type NewApproval = Pick<StoredApproval, "approval" | "presentation" | "comparable">;

/**
 * `done`: the requested transition happened. `expired`: its time was over, which this transition has just recorded. `changed`: another
 * person's vote was stored first.
 */
export interface Transition {
  readonly change: "done" | "expired" | "changed" | "none";
  readonly approval: Approval;
}

/** The votes of an approval, and how many of them count for each requirement. */
const Votes = z.object({ votes: z.array(ApprovalVote), approved: z.array(z.int()) });

/** Estimates its key, its index entries, its decision and its end. */
const APPROVAL_BYTES = 1_500;

export function createApprovalStore(
  redis: Redis,
  storage: Pick<OwnerStorage, "admit" | "add">,
): ApprovalStore {
  const transition = async (
    id: string,
    script: string,
    args: readonly (string | number)[],
  ): Promise<Transition | null> => {
    const reply = await fromRedis(redis.eval(script, 1, keyOf(id), ...args));
    if (!Array.isArray(reply)) return null;
    const [change, flat] = reply as [Transition["change"], string[]]; // as the scripts return
    return { change, approval: parsed(fieldsOf(flat)).approval };
  };
  return {
    async create(stored) {
      const { principal, requestedAt, expiresAt } = stored.approval;
      const fields = Object.entries(fieldsOfApproval(stored)).flat();
      const endMs = Date.parse(expiresAt) + KEPT_AFTER_END_MS;
      await storage.admit(principal.user, { isUnderWay: principal.runId !== null });
      const key = keyOf(stored.approval.id);
      const reply = await fromRedis(redis.eval(CREATE, 1, key, endMs, ...fields));
      const [isNew, flat] = reply as [number, string[]]; // as the script returns
      const bytes = Buffer.byteLength(fields.join("")) + APPROVAL_BYTES;
      if (isNew === 1) storage.add(principal.user, bytes, endMs - Date.parse(requestedAt));
      return { isNew: isNew === 1, stored: parsed(fieldsOf(flat)) };
    },
    async read(id) {
      return orNull(await fromRedis(redis.hgetall(keyOf(id))));
    },
    async readMany(ids) {
      const all = await fromRedis(Promise.all(ids.map((id) => redis.hgetall(keyOf(id)))));
      return all.map((fields) => orNull(fields));
    },
    decide(id, { state, decision, consumeByMs, now }) {
      return transition(id, DECIDE, [now, state, JSON.stringify(decision), consumeByMs ?? ""]);
    },
    vote(id, { revision, votes, approved, approval, now }) {
      const text = JSON.stringify({ votes, approved });
      const end =
        approval === null
          ? ["pending", "", "", ""]
          : [
              "approved",
              JSON.stringify(approval.decision),
              approval.consumeByMs,
              approval.edit ? JSON.stringify(approval.edit) : "",
            ];
      return transition(id, VOTE, [now, revision, text, ...end]);
    },
    escalate: (id, { published, now }) => transition(id, ESCALATE, [now, String(published)]),
    void: (id, { decision, now }) => transition(id, VOID, [now, JSON.stringify(decision)]),
    expire: (id, now) => transition(id, EXPIRE, [now]),
    consume: (id, { attempt, now }) => transition(id, CONSUME, [now, attempt]),
    settle(id, { attempt, outcome, resultDigest, now }) {
      return transition(id, SETTLE, [now, attempt, outcome, resultDigest ?? ""]);
    },
  };
}

/** Returns the approval as of a given time: it is expired once its time is over, even before that is recorded. */
export function atTime(approval: Approval, now: number): Approval {
  const { state, expiresAt } = approval;
  const canExpire = state === "pending" || state === "approved";
  return canExpire && now >= Date.parse(expiresAt) ? { ...approval, state: "expired" } : approval;
}

/** The next time at which something happens by itself: other people are added, or its time is over. Milliseconds since the Unix epoch. */
export function nextDueMs({ escalatesAt, expiresAt }: Approval): number {
  return Date.parse(escalatesAt ?? expiresAt);
}

function keyOf(id: string): string {
  return `yard:approval:{${id}}`;
}

/** Mutable facts have fields of their own; the rest is written once. */
function fieldsOfApproval({ approval, presentation, comparable }: NewApproval) {
  const { state, expiresAt, votes: _, escalatesAt: __, ...rest } = approval;
  return {
    core: JSON.stringify(rest),
    presentation: JSON.stringify(presentation),
    comparable: comparable ?? "",
    state,
    expiresAtMs: String(Date.parse(expiresAt)),
  };
}

function fieldsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index < flat.length; index += 2) {
    fields[flat[index] ?? ""] = flat[index + 1] ?? "";
  }
  return fields;
}

function orNull(fields: Record<string, string>): StoredApproval | null {
  return fields["core"] === undefined ? null : parsed(fields);
}

function parsed(fields: Record<string, string>): StoredApproval {
  const { core = "", presentation = "", comparable = "", decision, consumedAtMs } = fields;
  const edited = fields["edit"] === undefined ? null : StoredEdit.parse(JSON.parse(fields["edit"]));
  const { votes: revision = "", escalated = "0" } = fields;
  const { votes, approved } =
    revision === "" ? { votes: [], approved: [] } : Votes.parse(JSON.parse(revision));
  const escalations = Number(escalated);
  const written = Approval.parse({
    ...JSON.parse(core),
    votes,
    state: fields["state"],
    expiresAt: isoTime(fields["expiresAtMs"]),
    decision: decision === undefined ? null : JSON.parse(decision),
    ...(edited === null ? {} : { edit: edited.edit }),
    consumedAt: consumedAtMs === undefined ? null : isoTime(consumedAtMs),
    execution: fields["execution"] ?? null,
    resultDigest: fields["resultDigest"] ?? null,
  });
  const requirements = written.requirements.map((one, at) => ({
    ...one,
    approved: approved[at] ?? 0,
  }));
  const escalatesAt =
    written.state === "pending" ? (escalationsOf(written)[escalations] ?? null) : null;
  const approval = { ...written, requirements, escalatesAt };
  return {
    approval,
    presentation: Presentation.parse(JSON.parse(presentation)),
    comparable: comparable === "" ? null : comparable,
    editedArgs: edited?.args ?? null,
    isVoid: fields["void"] !== undefined,
    revision,
    escalations,
  };
}

/** The times at which other people are added, in their order. */
export function escalationsOf({ requirements }: Pick<Approval, "requirements">): string[] {
  const times = requirements.flatMap(({ escalatesAt }) => escalatesAt ?? []);
  return [...new Set(times)].toSorted();
}

function isoTime(ms: string | undefined): string {
  return new Date(Number(ms)).toISOString();
}
