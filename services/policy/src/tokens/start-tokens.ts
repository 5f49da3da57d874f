import type { Bus } from "@switchyard/bus/bus";
import type { Log } from "@switchyard/service/log";
import type { StopList } from "../stops/stop-list.ts";
import { createIdentify, type Identify, type RefusedToken } from "./identify.ts";
import { runTokenKeyFile } from "./run-token-key.ts";
import { openKeyRing, type KeyRing } from "./key-ring.ts";
import { reportRefusedTokens } from "./refused-tokens.ts";
import { constant } from "@switchyard/service/constant";

/** Opens the keys of run tokens, identifies the principals of calls, and reports invalid tokens. */
export async function startTokens(
  kit: {
    readonly bus: Bus;
    readonly log: Log;
    readonly config: { readonly YARD_KEYS_DIR?: string | undefined };
    readonly onStop: (name: string, stop: () => Promise<void>) => void;
  },
  parts: {
    readonly stops: Pick<StopList, "isKeyStopped" | "isCurrent">;
    /** Called for each refused token; the events only count them. */
    readonly onRefused: (refused: RefusedToken) => void;
    readonly now: () => number;
  },
): Promise<{ readonly keyRing: KeyRing; readonly identify: Identify }> {
  const { bus, log, config } = kit;
  const { stops, now } = parts;
  const keyRing = await openKeyRing({
    file: runTokenKeyFile(config.YARD_KEYS_DIR),
    // Until its end every replica has read a new key, which is only accepted before.
    leadMs: constant("runTokenKeyLeadMs", 90_000),
    stops,
    log,
    now,
  });
  kit.onStop("run token keys", async () => keyRing.stop());
  const refused = reportRefusedTokens({ bus, log, now });
  kit.onStop("refused tokens", () => refused.stop());
  const identify = createIdentify({
    verify: keyRing.verify,
    onRefused(token) {
      refused.onRefused(token);
      parts.onRefused(token);
    },
  });
  return { keyRing, identify };
}
