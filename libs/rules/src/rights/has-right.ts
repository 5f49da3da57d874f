import { matchesGlob } from "@switchyard/contracts/glob";
import type { Right } from "../schema/right-schema.ts";

/** The users who have a right that no entry of the policy is about. */
const DEFAULTS: Readonly<Record<Right["right"], readonly string[]>> = {
  replay: ["cli", "admin"],
  "approve-own": [],
  "share-memory": [],
  "replay-values": ["cli", "admin"],
};

/** True when the NATS user has the right. Entries about a right replace its default. */
export function hasRight(
  rights: readonly Right[] | undefined,
  right: Right["right"],
  user: string,
): boolean {
  const entries = rights?.filter((entry) => entry.right === right) ?? [];
  const users = entries.length === 0 ? DEFAULTS[right] : entries.flatMap((entry) => entry.users);
  return users.some((glob) => matchesGlob(glob, user));
}
