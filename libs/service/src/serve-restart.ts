import { randomBytes } from "node:crypto";
import type { Service } from "@switchyard/bus/serve";
import type { RESTARTS, Restartable } from "@switchyard/contracts/restarts";

/** The answer is sent before the process begins to stop. */
const AFTER_ANSWER_MS = 50;

/**
 * Lets the toolbox restart this process. Serve it last: a client that discovers it assumes that the process is ready. `restart` is the
 * kit's; null answers `restart_disabled`.
 */
export function serveRestart(
  service: Service,
  contract: (typeof RESTARTS)[Restartable],
  restart: (() => void) | null,
): void {
  service.handle(
    contract,
    (_request, { fail }) => {
      if (restart === null)
        throw fail.restart_disabled(
          "This process may not be restarted from outside: YARD_RESTARTS is not set for it.",
          { setting: "YARD_RESTARTS" },
        );
      setTimeout(restart, AFTER_ANSWER_MS);
      return { isStopping: true as const };
    },
    { process: randomBytes(12).toString("hex") },
  );
}
