import type { JournalEntry } from "../journal/journal-entry.ts";
import type { Peers } from "../peers.ts";

/** A run token and when it ends, in milliseconds since the Unix epoch. */
export interface RunToken {
  readonly token: string;
  readonly expiresAt: number;
}

/** Who a token is for. */
export interface Grantee {
  readonly runId: string;
  readonly agent: string;
  readonly requester: string;
  readonly toolLayers: string[][];
  readonly roles?: readonly string[] | undefined;
  readonly parent?: { readonly runId: string } | undefined;
}

export const TOKEN_TTL_SECONDS = 3_600;

/**
 * Asks the policy for the token of a run. One that works for another run gets no more than that one has:
 * the policy takes the parent's tools from the parent's own token.
 */
export async function grantToken(
  grantee: Grantee,
  options: {
    readonly peers: Pick<Peers, "grantRun">;
    readonly load: (runId: string) => Promise<readonly JournalEntry[]>;
    readonly signal?: AbortSignal;
  },
): Promise<RunToken & { readonly policyDigest: string }> {
  const { runId, agent, requester, toolLayers, roles = [], parent } = grantee;
  const { peers, load, signal } = options;
  const parentToken = parent === undefined ? null : await tokenOfParent(parent.runId, options);
  const { token, expiresAt, policyDigest } = await peers.grantRun(
    {
      runId,
      agent,
      requester,
      tools: toolLayers,
      ...(roles.length === 0 ? {} : { roles: [...roles] }),
      ...(parentToken === null ? {} : { parentToken }),
      ttlSeconds: TOKEN_TTL_SECONDS,
    },
    { correlationId: runId, ...(signal === undefined ? {} : { signal }) },
  );
  return { token, expiresAt: Date.parse(expiresAt), policyDigest };

  async function tokenOfParent(parentId: string, same: typeof options): Promise<string> {
    const [started] = await load(parentId);
    if (started?.kind !== "started")
      throw new Error(`run ${runId} works for run ${parentId}, whose journal is gone`);
    return (await grantToken(started, same)).token;
  }
}
