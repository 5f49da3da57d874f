import { ServiceError } from "@switchyard/contracts/errors";
import { matchesGlob } from "@switchyard/contracts/glob";
import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import type { ServerStatus } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { UnavailableServer } from "@switchyard/contracts/agent-runner/runs";
import { parseToolPattern } from "@switchyard/contracts/tool-patterns";
import type { ServiceClients } from "./service-clients.ts";
import { pause } from "@switchyard/contracts/timeouts";
import { cutBytes } from "@switchyard/contracts/cut-text";

type Layers = readonly (readonly string[])[];

/** Limits for the stored reasons, which come from servers. */
const MAX_REASONS = 20;
const MAX_REASON_BYTES = 300;

/**
 * Lists the tools of MCP servers that a run may use, and the servers whose tools are missing. A server that connects only when it
 * is first needed is connected now when the run's tools name it, since its tools are available only then. This takes at most as
 * long as `mcp.ensure`, for all of them together, and servers that are not connected in time are left out.
 */
export async function listServerTools(
  clients: Pick<ServiceClients, "listTools" | "ensureServer">,
  { token, layers }: { readonly token: string; readonly layers: Layers },
  options: { readonly signal: AbortSignal; readonly correlationId: string },
): Promise<{
  readonly tools: readonly ToolInfo[];
  readonly unavailable: readonly UnavailableServer[];
}> {
  const first = await clients.listTools({ token }, options);
  const wanted = first.failures.filter(({ server, status }) => {
    return UNCONNECTED.has(status) && namedIn(layers, server) === "by name";
  });
  if (wanted.length === 0) return { ...first, unavailable: missingOf(first.failures, layers) };
  const refused = new Map<string, string>();
  const isNew = (server: string): boolean =>
    wanted.some((one) => one.server === server && one.status === "disconnected");
  await Promise.all(
    wanted.map(async ({ server }) => {
      try {
        await clients.ensureServer({ server }, options);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        refused.set(server, error.message);
      }
    }),
  );
  for (let look = 1; ; look += 1) {
    const { tools, failures } = await clients.listTools({ token }, options);
    // A broker other than the server's own may reply, and it is notified of new connections a moment later.
    const isLate = failures.some(({ server, status }) => {
      return status === "disconnected" && !refused.has(server) && isNew(server);
    });
    if (!isLate || look === MAX_LOOKS) {
      const unlisted = failures.map(({ server, status, error }) => {
        return { server, status, error: refused.get(server) ?? error };
      });
      return { tools, unavailable: missingOf(unlisted, layers) };
    }
    await pause(LOOK_AGAIN_MS, options.signal);
  }
}

const MAX_LOOKS = 4;
const LOOK_AGAIN_MS = 150;

const UNCONNECTED: ReadonlySet<ServerStatus> = new Set(["disconnected", "connecting"]);

/** A tool without a name of its own in the run's patterns is missing only when it should be there. */
function missingOf(
  failures: readonly { server: string; status: ServerStatus; error: string }[],
  layers: Layers,
): UnavailableServer[] {
  return failures
    .filter(({ server, status }) => {
      const named = namedIn(layers, server);
      return named === "by name" || (named === "with all" && status !== "disconnected");
    })
    .slice(0, MAX_REASONS)
    .map(({ server, error }) => ({ server, reason: cutBytes(error, MAX_REASON_BYTES) }));
}

/** Returns whether the run may use tools of a server at all, and if so, whether one of its patterns names this server. */
export function namedIn(layers: Layers, server: string): "by name" | "with all" | "not" {
  let isNamed = false;
  for (const layer of layers) {
    const globs = layer.flatMap((pattern) => {
      const parsed = parseToolPattern(pattern);
      if (pattern.startsWith("!") || parsed.kind === "bare") return [];
      return [parsed.kind === "everything" ? "*" : parsed.server];
    });
    const matching = globs.filter((glob) => matchesGlob(glob, server));
    if (matching.length === 0) return "not";
    isNamed ||= matching.some((glob) => /[^*?]/.test(glob));
  }
  return isNamed ? "by name" : "with all";
}
