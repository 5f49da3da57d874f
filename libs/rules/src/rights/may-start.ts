import { matchesGlob } from "@switchyard/contracts/glob";
import type { RunOrigin } from "@switchyard/contracts/agent-runner/run-context";
import type { Bundle } from "../schema/bundle.ts";

/** The sections of the bundle about starting runs; rules are about the calls of runs. */
export type StartRules = Pick<Bundle, "starters" | "origins">;

/** A run that is to begin. */
export interface Start {
  readonly agent: string;
  /** The NATS user whose command started the run, or the first run of its family. */
  readonly requester: string;
  /** The agent whose run starts it; null for a command. */
  readonly parent: string | null;
}

/**
 * True when the requester may start the agent. Without `starters` every user whom NATS lets publish the command may; with
 * `starters` only users whom an entry names.
 */
export function mayStart({ starters }: StartRules, { agent, requester, parent }: Start): boolean {
  if (starters === undefined) return true;
  return starters.some(
    (entry) =>
      fits(entry.agents, agent) &&
      fits(entry.users, requester) &&
      (entry.parents === undefined || (parent !== null && fits(entry.parents, parent))),
  );
}

/**
 * Returns the parts of an origin for which the requester's statement is not enough. The runner knows the model and the
 * conversation of a run itself; where a message came from and who sent it, only the service that received it can attest.
 */
export function unbelieved(
  { origins }: StartRules,
  { requester, origin }: { readonly requester: string; readonly origin: RunOrigin },
): string[] {
  if (origins !== undefined && fits(origins.users, requester)) return [];
  return (["channel", "group", "chat", "owner", "depth"] as const).filter(
    (part) => origin[part] !== undefined,
  );
}

function fits(globs: readonly string[] | undefined, name: string): boolean {
  return globs === undefined || globs.some((glob) => matchesGlob(glob, name));
}
