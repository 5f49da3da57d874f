import { ServiceError } from "@switchyard/contracts/errors";
import type { Peers } from "./peers.ts";
import { pause } from "../signals/interruption.ts";

const FIRST_PAUSE_MS = 20;
/** Together 2.5 s on average; then the service is not busy but too small, and the run is left for a while. */
const ATTEMPTS = 8;

/**
 * Asks a service again that has no place for a question at the moment: it has one within milliseconds, and a run
 * that is left for it comes back a hundred times later. Only questions are asked again: calls of tools have their own way.
 */
export function patientPeers(peers: Peers, random: () => number): Peers {
  const patient =
    <Request, Options extends { readonly signal?: AbortSignal }, Reply>(
      ask: (request: Request, options?: Options) => Promise<Reply>,
    ) =>
    (request: Request, options?: Options): Promise<Reply> =>
      untilHeard(() => ask(request, options), options?.signal ?? NEVER, random);
  return {
    ...peers,
    getAgent: patient(peers.getAgent),
    skillCatalogue: patient(peers.skillCatalogue),
    renderSkill: patient(peers.renderSkill),
    getSkill: patient(peers.getSkill),
    grantRun: patient(peers.grantRun),
    listTools: patient(peers.listTools),
    listBuiltins: patient(peers.listBuiltins),
    recallMemory: patient(peers.recallMemory),
  };
}

const NEVER = new AbortController().signal;

async function untilHeard<Reply>(
  ask: () => Promise<Reply>,
  signal: AbortSignal,
  random: () => number,
): Promise<Reply> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const isBusy = error instanceof ServiceError && error.code === "overloaded";
      if (!isBusy || attempt === ATTEMPTS) throw error;
    }
    // Not all of those that were refused together at once.
    await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + random()), signal);
  }
}
