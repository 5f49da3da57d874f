import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { tokensRefused } from "@switchyard/contracts/policy/refused-tokens";
import type { Log } from "@switchyard/service/log";
import type { RefusedToken } from "./identify.ts";

const REPORT_EVERY_MS = 1_000;
/** The number of combinations of provider, caller and reason that are counted in one second. */
const MAX_KINDS = 1_000;

/** Counts refused tokens and publishes the counts once a second, so that a flood of forged tokens does not become a flood of events. */
export function reportRefusedTokens(parts: {
  readonly bus: Bus;
  readonly log: Log;
  readonly now: () => number;
}): { readonly onRefused: (refused: RefusedToken) => void; stop(): Promise<void> } {
  const { bus, log, now } = parts;
  const counts = new Map<string, RefusedToken & { count: number }>();

  const publish = async (): Promise<void> => {
    const due = [...counts.values()];
    counts.clear();
    const at = new Date(now()).toISOString();
    await Promise.all(
      due.map(async ({ provider, ...fact }) => {
        try {
          await publishEvent(bus, tokensRefused, { provider }, { ...fact, at });
        } catch (err) {
          log.warn({ err, provider, ...fact }, "refused run tokens not published");
        }
      }),
    );
  };
  const timer = setInterval(() => void publish(), REPORT_EVERY_MS);
  return {
    onRefused(refused) {
      const { provider, caller, reason } = refused;
      const key = `${provider}\n${caller}\n${reason}`;
      const known = counts.get(key);
      if (known !== undefined) known.count += 1;
      else if (counts.size < MAX_KINDS) counts.set(key, { ...refused, count: 1 });
    },
    async stop() {
      clearInterval(timer);
      await publish();
    },
  };
}
