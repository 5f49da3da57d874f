import type { LogLevel } from "@switchyard/contracts/mcp-features";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { McpSession } from "../connection/mcp-session.ts";
import type { FeatureGate } from "../server-requests/feature-gate.ts";
import { hasFeature, sendRequest, supportingSession, type RequestTarget } from "./send-request.ts";

type Target = RequestTarget & { readonly gate: FeatureGate };

/** The levels that were set, so that a new connection of a server gets the one of the last. */
export interface LogLevels {
  set(target: Target, level: LogLevel, asked: AskedFor): Promise<void>;
  restore(server: string, session: McpSession): Promise<void>;
  forget(server: string): void;
}

const RESTORE_TIMEOUT_MS = 5_000;

export function createLogLevels(onTrouble: (server: string, error: unknown) => void): LogLevels {
  const levels = new Map<string, LogLevel>();
  return {
    async set(target, level, asked) {
      const server = target.connection.entry.id;
      const feature = { kind: "logging", server, name: "logging", args: { level } } as const;
      const method = "logging/setLevel";
      await target.gate.perform(feature, { method, asked }, async (_principal, stoppable) => {
        await target.connection.start();
        const session = supportingSession(target.connection, "logging");
        const params = { level };
        if (!session.wantLogs(level))
          await sendRequest(target, { method, params, needs: "logging", asked: stoppable });
        levels.set(server, level);
      });
    },
    forget: (server) => void levels.delete(server),
    async restore(server, session) {
      const level = levels.get(server);
      if (level === undefined || !hasFeature(session.capabilities, "logging")) return;
      if (session.wantLogs(level)) return;
      await session
        .request({ method: "logging/setLevel", params: { level }, timeoutMs: RESTORE_TIMEOUT_MS })
        .catch((error: unknown) => onTrouble(server, error));
    },
  };
}
