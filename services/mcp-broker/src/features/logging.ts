import type { LogLevel } from "@switchyard/contracts/mcp-broker/mcp-features";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import type { McpSession } from "../connection/mcp-session.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import { performFeature, type FeatureDeps } from "./perform-feature.ts";
import { hasFeature, requestFeature, supportingSession } from "./request-feature.ts";

export type LogLevels = ReturnType<typeof createLogLevels>;

const RESTORE_TIMEOUT_MS = 5_000;

/** The levels that were set, so that a new connection of a server gets the one of the last. */
export function createLogLevels(onTrouble: (server: string, error: unknown) => void) {
  const levels = new Map<string, LogLevel>();
  return {
    async set(
      deps: FeatureDeps,
      { member, level }: { readonly member: PoolMember; readonly level: LogLevel },
      requester: Requester,
    ): Promise<void> {
      const { connection } = member;
      const server = connection.entry.id;
      const feature = { kind: "logging", server, name: "logging", args: { level } } as const;
      const method = "logging/setLevel";
      await performFeature(deps, { feature, method, requester }, async (call) => {
        await connection.start();
        const session = supportingSession(connection, "logging");
        const request = { method, params: { level }, needs: "logging", call } as const;
        if (!session.wantLogs(level)) await requestFeature(deps.sender, member, request);
        levels.set(server, level);
      });
    },
    forget: (server: string) => void levels.delete(server),
    async restore(server: string, session: McpSession): Promise<void> {
      const level = levels.get(server);
      if (level === undefined || !hasFeature(session.capabilities, "logging")) return;
      if (session.wantLogs(level)) return;
      await session
        .request({ method: "logging/setLevel", params: { level }, timeoutMs: RESTORE_TIMEOUT_MS })
        .catch((error: unknown) => onTrouble(server, error));
    },
  };
}
