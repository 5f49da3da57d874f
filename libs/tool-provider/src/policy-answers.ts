import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { ServiceError } from "@switchyard/contracts/errors";
import { listStops } from "@switchyard/contracts/policy/policy-budgets";
import { PromisedCache } from "@switchyard/contracts/promised-cache";
import type { Check } from "@switchyard/service/readiness";

/** An answer counts for so long, so that frequent probes do not become requests. */
const FRESH_MS = 1_000;
/** Below the time that a readiness check may take. */
const TIMEOUT_MS = 800;

/**
 * A readiness check for services that do nothing without the policy service: it passes while that service answers requests. The bus has to
 * be that of a user who may list stops (`topology.ts`).
 */
export function policyAnswers(bus: Bus): Check {
  const policy = client(bus, { listStops });
  const answers = new PromisedCache<true | string>({ now: () => performance.now(), most: 1 });
  const ask = async (): Promise<true | string> => {
    try {
      await policy.listStops({}, { timeoutMs: TIMEOUT_MS });
      return true;
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "fault";
      return `the policy service does not answer (${code}): no run begins and no tool is called without it`;
    }
  };
  return () =>
    answers.get("policy", ask, (answer, askedAt) => (answer === true ? askedAt + FRESH_MS : null));
}
