import { matchesGlob } from "@switchyard/contracts/glob";
import type { RunOrigin } from "@switchyard/contracts/run-context";
import type { Bundle } from "../schema/bundle.ts";

/** What the bundle says of beginnings, beside what runs may call. */
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
 * True when the requester may start the agent. Without `starters` everybody may whom NATS lets publish the
 * command; with them nobody whom no entry names.
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
 * The parts of an origin that the requester's word is not enough for. What a run thinks with and which
 * conversation it belongs to the runner knows by itself; where a message came from and whose it is, only
 * who brought it can tell.
 */
export function unbelieved(
  { origins }: StartRules,
  { requester, origin }: { readonly requester: string; readonly origin: RunOrigin },
): string[] {
  if (origins !== undefined && fits(origins.users, requester)) return [];
  return (["channel", "group", "owner"] as const).filter((part) => origin[part] !== undefined);
}

function fits(globs: readonly string[] | undefined, name: string): boolean {
  return globs === undefined || globs.some((glob) => matchesGlob(glob, name));
}
