import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import type { JournalEntry } from "../core/journal-entry.ts";
import { originOf, type Dictation, type StartedEntry } from "../core/started-entry.ts";
import { replay } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import type { ServiceClients } from "./service-clients.ts";

/** A run token and when it ends, in milliseconds since the Unix epoch. */
export interface RunToken {
  readonly token: string;
  readonly expiresAt: number;
}

/** The run and agent that a token is issued for. */
export interface Grantee {
  readonly runId: string;
  readonly agent: string;
  readonly requester: string;
  readonly toolLayers: readonly (readonly string[])[];
  readonly roles?: readonly string[] | undefined;
  readonly approval?: ApprovalTier | undefined;
  readonly sharesMemory?: StartedEntry["sharesMemory"];
  readonly parent?: { readonly runId: string } | undefined;
  readonly session?: { readonly sessionId: string } | undefined;
  readonly origin?: StartedEntry["origin"];
  readonly broughtBy?: StartedEntry["broughtBy"];
  /** The model of the run. */
  readonly model: string;
  readonly replay?: StartedEntry["replay"];
  readonly replayed?: Dictation["replayed"];
  readonly dictatedBy?: Dictation["dictatedBy"];
}

/** Returns the grantee for the run's current state: tools that its activated skills removed are no longer in its token. */
export function granteeOf({ started, toolLayers, model }: RunState): Grantee {
  return { ...started, toolLayers, model };
}

export const TOKEN_TTL_SECONDS = 3_600;

/**
 * Requests the token of a run from the policy. A run that works for another one gets no more tools than that one has:
 * the policy takes the parent's tools from the parent's own token.
 */
export async function grantToken(
  grantee: Grantee,
  options: {
    /** The run that this process holds, when that run works for the grantee. */
    readonly heldRun?: string;
    /** The user that claims the run's session, and gets the token instead of this runner. */
    readonly forUser?: string;
    readonly clients: Pick<ServiceClients, "grantRun">;
    readonly load: (runId: string) => Promise<readonly JournalEntry[]>;
    readonly signal?: AbortSignal;
  },
): Promise<RunToken & { readonly policyDigest: string }> {
  const { runId, agent, requester, toolLayers, roles = [], approval, parent } = grantee;
  const { sharesMemory, broughtBy } = grantee;
  const { clients, load, signal, heldRun, forUser } = options;
  const parentToken = parent === undefined ? null : await tokenOfParent(parent.runId, options);
  const { token, expiresAt, policyDigest } = await clients.grantRun(
    {
      runId,
      ...(heldRun === undefined ? {} : { heldRun }),
      ...(forUser === undefined ? {} : { forUser }),
      agent,
      requester,
      tools: toolLayers.map((layer) => layer.slice()),
      ...(roles.length === 0 ? {} : { roles: [...roles] }),
      ...(approval === undefined ? {} : { approval }),
      ...(sharesMemory === undefined ? {} : { sharesMemory }),
      ...(parentToken === null ? {} : { parentToken }),
      origin: originOf(grantee),
      ...(broughtBy === undefined ? {} : { broughtBy }),
      ttlSeconds: TOKEN_TTL_SECONDS,
    },
    { correlationId: runId, ...(signal === undefined ? {} : { signal }) },
  );
  return { token, expiresAt: Date.parse(expiresAt), policyDigest };

  /** Requests a token that is used only to pass on the parent's permissions. */
  async function tokenOfParent(parentId: string, same: typeof options): Promise<string> {
    const entries = await load(parentId);
    if (entries.length === 0)
      throw new Error(`run ${runId} works for run ${parentId}, whose journal is gone`);
    return (await grantToken(granteeOf(replay(entries)), { heldRun: runId, ...same })).token;
  }
}
